"""Standing intents: reminders that a matching message brings up; how they are matched and stored, and their tool.

`../remembering.py` matches messages and shows reminders to the model.
"""
