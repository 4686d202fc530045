"""Integrations from elsewhere: installed, looked at before they are enabled, and pinned by the hash of their files.

Not here: how an integration is found, set up and reloaded (`hub/integration`).
"""
