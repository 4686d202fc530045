"""Sessions: their keys, their transcripts on disk, and the store that knows them all.

The inside of a session (runs, prompts, windows) is in `hub/agent`; who may start one, in `hub/messaging`.
"""
