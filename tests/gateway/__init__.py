"""The gateway, over real sockets: ingress, handshake, methods, HTTP API.

Nothing of the hub is replaced; where a test needs a model it asks the scripted server.
"""
