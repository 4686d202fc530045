"""Standing intents: what is to be said when something comes up, how it is matched and kept, and the tool for it.

When a message is looked at, and how it gets before the model, is in `../remembering.py`.
"""
