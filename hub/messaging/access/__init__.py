"""Who may talk, and which agent answers in which session: pure decisions, and pending strangers.

Not here: people and their identities (`hub.security.people`).
"""
