"""The first pages: sign-in and overview.

Not here: what the overview shows in detail.
"""
