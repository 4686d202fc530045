"""Ways that devices reach the hub, one folder for each.

What nodes may do is decided in `hub/nodes`.
"""
