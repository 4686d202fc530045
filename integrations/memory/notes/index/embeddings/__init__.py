"""Embedding providers: a local model or a provider's API, each with cache, costs and retries.

Nothing here knows files, passages or engines; what it keeps is hashes, vectors and counts, never a text.
"""
