"""The worker process of the index: `python -m` starts it, and frames on its pipes ask it.

Not here: the index (`notes/index`), nor the hub's side of the pipes (`notes/client`).
"""
