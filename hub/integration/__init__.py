"""Integrations: their manifests, where they are found, and how they are set up, retried, reloaded and unloaded.

What an integration brings (tools, channels, models) lives in its own folder under `integrations/`.
"""
