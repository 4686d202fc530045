"""The pages about channels: accounts, pairing requests, and undelivered messages.

Not here: conversations (`web/chat`).
"""
