"""The security audit: who can reach what, and what of the configuration loosens it, each with a fix.

Checks are rows of a registry, pure over a home and its configuration; mending is apart, and changes what a check named.
"""
