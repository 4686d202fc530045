"""Models: the contract for providers, the registry that picks one, credentials, catalog and usage.

Providers themselves are integrations (`integrations/models/*`).
"""
