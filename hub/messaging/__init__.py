"""Messaging: the contract for channels, and the way of a message from inbox to outbox, durable at every step.

Channels themselves are integrations (`integrations/channels/*`).
"""
