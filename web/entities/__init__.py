"""The pages of entities and areas: states, history, and people's decisions.

Not here: the registries and the services of entities (`hub/entities`).
"""
