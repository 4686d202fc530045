"""Flush: what was said in a conversation, its digest, and the note that memory gets, once for each part.

When a conversation is flushed is decided by who ends it or makes it shorter; it is wired in `../remembering.py`.
"""
