"""Memory: the contract of what an assistant remembers, who keeps it, and the rules over its Markdown files.

The engine is an integration (`integrations/memory/*`); what is remembered of a conversation is decided in `hub/agent`.
"""
