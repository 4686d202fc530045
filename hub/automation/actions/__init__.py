"""Actions: one module for each kind of step, with its schema, its execution and its description.

Not here: services themselves; a step calls them by name.
"""
