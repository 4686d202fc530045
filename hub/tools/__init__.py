"""Tools: the contract, the registry, policy, and the one way a tool is invoked.

Tools themselves are integrations (`integrations/tools/*`, `integrations/memory/*`).
"""
