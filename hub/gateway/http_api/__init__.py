"""The HTTP API: health, the RPC route, sign-in, and what OpenAI-compatible clients call.

Who may call it is decided by the ingress, not here.
"""
