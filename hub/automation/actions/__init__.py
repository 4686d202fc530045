"""What an automation does: one module a kind of step, each with its schema, its doing and its words.

Not here: services themselves; a step calls them by name.
"""
