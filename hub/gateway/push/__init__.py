"""What the gateway sends unasked: events of runs, approvals, automations and schedules, encoded once for all.

Not here: the connections they go out by (`connection/`).
"""
