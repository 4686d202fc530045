"""The hub as a service of its machine: started with it, and again after a crash, by systemd or launchd.

Not here: starting and stopping the hub itself (`hub/bootstrap.py`); a node as a service (`node/service.py`).
"""
