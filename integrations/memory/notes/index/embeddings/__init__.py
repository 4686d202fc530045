"""Embedding providers: a local model or a provider's API, each with cache, costs and retries.

Nothing here knows files, passages or engines; it stores hashes, vectors and counts, never a text.
"""
