"""A conversation as a model is sent it: a transcript read in envelopes and notes, cut to the window.

Transcripts themselves are in `hub/sessions`; summaries of older messages are made in `hub/agent/compaction`.
"""
