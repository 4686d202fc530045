"""Webhooks that automations wait for: their addresses, who may call, and what a call says.

Not here: webhooks of channels, which their integrations serve.
"""
