"""Tests of `hub/sessions`.

Nothing here is imported by the program.
"""
