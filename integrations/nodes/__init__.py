"""Ways that devices reach the hub, one folder for each.

What a node may be asked is decided in `hub/nodes`.
"""
