"""The pages of agents and models: who answers, with which models, and how a model is added.

Not here: what models cost (`web/usage`), and the models themselves (`hub/models`).
"""
