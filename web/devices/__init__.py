"""The page of devices: pairing requests, nodes, and connected clients.

Not here: entities of devices, which have pages of their own.
"""
