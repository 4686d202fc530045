"""Sandboxes: where programs run that must not run in the hub, who has to be in one, and what is seen inside.

Not here: how an engine makes one, which is its integration's (`integrations/sandbox/*`).
"""
