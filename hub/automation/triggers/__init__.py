"""What sets an automation off: one module a kind, each with its schema, its listener and its words.

Not here: what becomes of a firing (`hub.automation.automation`) and when a schedule is due (`hub.automation.schedule`).
"""
