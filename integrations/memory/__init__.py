"""The memories: each folder is one way to keep and find what an agent should remember.

The contract, chunking and ranking are not here but in hub/memory.
"""
