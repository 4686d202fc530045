"""The node program: makes a computer or a phone the hands and eyes of a hub that runs elsewhere.

A distribution of its own (`homarus-node`), which knows the gateway's protocol and nothing of the hub.
"""

__version__ = "0.1.0"
