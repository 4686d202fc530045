"""The methods of the gateway about hearing and speaking: OpenClaw's `talk.*` and `voicewake.*`.

What hears and speaks, and what keeps the words, lies above.
"""
