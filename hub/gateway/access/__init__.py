"""Access to the gateway: ingress rules, Host names, credentials and device identities.

Not here: what is called (`calls/`).
"""
