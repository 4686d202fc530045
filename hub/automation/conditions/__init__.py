"""What must hold before an automation goes on: one module a kind, each with its schema, its check and its words.

Not here: what happens when one does not hold; that is told by who asked.
"""
