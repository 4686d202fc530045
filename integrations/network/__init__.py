"""What connects the hub with the local network around it.

Connecting to what is found there is not done here but by the integration that knows how.
"""
