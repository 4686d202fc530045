"""Recall before a message, and everything else that connects conversations with memory.

The memory itself lies in `hub/memory`; what is written down behind a conversation in `hub/agent/flush`.
"""
