"""Sandboxes for programs that must not run in the hub: who needs one, and what is visible inside.

Not here: how an engine makes one, which is its integration's (`integrations/sandbox/*`).
"""
