"""Trying an automation without effects: simulation, dry runs, and tests against recorded history.

Not here: real runs (`running/`).
"""
