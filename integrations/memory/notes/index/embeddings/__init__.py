"""Who makes vectors: a model that runs here, or a provider's API, with cache, costs and retries around each.

Nothing here knows files, passages or engines; what it keeps is hashes, vectors and counts, never a text.
"""
