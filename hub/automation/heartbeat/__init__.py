"""Heartbeats: the file an agent checks, the prompt, the acknowledgement and the saved state of each agent.

A heartbeat is an automation; when it beats is decided by its trigger.
"""
