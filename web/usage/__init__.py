"""The page of usage: what models cost by day and model, and whether each key works.

Not here: what is recorded (`hub/storage`), and the keys themselves (`hub/models`).
"""
