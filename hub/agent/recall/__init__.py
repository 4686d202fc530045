"""Recall before a message, and everything else that connects conversations with memory.

The memory itself is in `hub/memory`; what is written after a conversation, in `hub/agent/flush`.
"""
