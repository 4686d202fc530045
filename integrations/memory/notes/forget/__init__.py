"""Forgetting: what is to be deleted from files and conversations, and its deletion and redaction.

Not here: what the index and its cache hold of it; the worker drops that when `notes/memory.py` asks.
"""
