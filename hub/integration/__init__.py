"""Integrations: their manifests, where they are found, and how they are set up, retried, reloaded and unloaded.

What an integration brings (tools, channels, models) is in its own folder under `integrations/`.
"""
