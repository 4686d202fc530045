"""Webhooks that automations wait for: their addresses, their access rules, and the data of a call.

Not here: webhooks of channels, which their integrations serve.
"""
