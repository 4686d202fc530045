"""Memory: the contract of what an assistant remembers, and the registry of who keeps it.

The engine is an integration (`integrations/memory/*`); the Markdown files it reads are the truth.
"""
