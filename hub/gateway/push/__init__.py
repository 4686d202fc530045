"""Events that the gateway pushes: runs, approvals, automations and schedules, each encoded once for all clients.

Not here: the connections they go out by (`connection/`).
"""
