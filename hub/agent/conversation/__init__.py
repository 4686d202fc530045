"""The conversation that is sent to a model: a transcript with envelopes and notes, cut to the context window.

Transcripts themselves are in `hub/sessions`; summaries of older messages are made in `hub/agent/compaction`.
"""
