"""The nightly tidy-up of memory: what is read, what a model is asked, what is written, and what is said of it.

What changes in the files is decided by rules in `hub/memory/tidy`.
"""
