"""Entities: their registries, the services of their domains, and the resolution of targets.

Not here: the states (`hub.core.states`), nor the protocols that devices speak (integrations).
"""
