"""Who may call: the ingress rules, Host names, credentials and device identities.

Not here: what is called (`calls/`).
"""
