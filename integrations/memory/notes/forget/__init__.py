"""Forgetting: plans deletions from files and conversations, and carries them out.

Not here: what the index and its cache hold of it; the worker drops that when `notes/memory.py` asks.
"""
