"""The page of devices: who waits to be paired, which nodes there are, and who is connected.

Not here: entities of devices, which have pages of their own.
"""
