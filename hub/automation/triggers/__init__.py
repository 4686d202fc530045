"""Triggers: one module for each kind, with its schema, its listener and its description.

Not here: what a firing starts (`hub.automation.engine.automation`), when a schedule is due (`hub.automation.schedule`).
"""
