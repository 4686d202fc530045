"""Compaction: the older part of a long conversation is replaced by a summary in what a model is sent.

`plan` decides, `summarise` asks a model, `entry` is what the transcript keeps, `compact` does it. Nothing is deleted.
"""
