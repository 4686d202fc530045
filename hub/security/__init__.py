"""Who may do what and what must not leak: people, tokens, passwords, rate limits, the path jail, redaction.

Where these are asked (ingress, tools, channels) is decided above; nothing here opens a socket or knows a database file.
"""
