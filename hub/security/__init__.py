"""What people may do and what must not leak: people, tokens, passwords, rate limits, the path jail, redaction.

They are applied above (ingress, tools, channels); nothing here opens a socket or knows a database file.
"""
