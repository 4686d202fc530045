"""Standing intents: what is to be said when something comes up, how it is matched and kept, and the tool for it.

`../remembering.py` matches messages and shows reminders to the model.
"""
