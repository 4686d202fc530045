"""The first pages: sign-in, Home, and what is found by name.

Not here: the pages that their cards lead to.
"""
