"""The pages of entities and areas: what is in the home, its state and its past, and what people decide about it.

Not here: the registries and the services of entities (`hub/entities`).
"""
