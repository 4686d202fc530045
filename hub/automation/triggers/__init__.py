"""What sets an automation off: one module a kind, each with its schema, its listener and its words.

Not here: what a firing starts (`hub.automation.engine.automation`), when a schedule is due (`hub.automation.schedule`).
"""
