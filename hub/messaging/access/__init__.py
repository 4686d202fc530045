"""Who may talk, and which agent answers in which session: pure decisions, and the strangers who asked.

Not here: people and their identities (`hub.security.people`).
"""
