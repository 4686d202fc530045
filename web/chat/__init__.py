"""The conversation pages: chat, sessions, approvals, and their live updates.

Not here: rendering and forms (`web/core`).
"""
