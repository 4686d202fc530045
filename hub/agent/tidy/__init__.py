"""The nightly tidy-up of memory: its input, the questions to a model, the changes, and the report.

What changes in the files is decided by rules in `hub/memory/tidy`.
"""
