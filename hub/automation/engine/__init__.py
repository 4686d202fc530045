"""The automations and scripts that are loaded: arming their triggers, run modes, limits and saved states.

Not here: what a single run does (`running/`).
"""
