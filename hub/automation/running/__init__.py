"""One run: its plan and position, its steps, variables and templates, and how waits are stored and resumed.

Not here: which runs may start (`engine/`), nor what is recorded of them (`tracing/`).
"""
