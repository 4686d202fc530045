"""Entities as people know them: their registries, the services of their domains, and what targets mean.

Not here: the states (`hub.core.states`), nor the protocols that devices speak (integrations).
"""
