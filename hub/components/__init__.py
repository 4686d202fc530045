"""The components of the hub: one class for each part, which builds it, starts and stops it, and keeps it up to date.

`hub/hub.py` lists them; a new part of the hub is one class here and one line there.
"""
