"""Sessions: their keys, their transcripts on disk, and the store that knows them all.

What happens inside a session (runs, prompts, windows) lives in `hub/agent`; who may start one, in `hub/messaging`.
"""
