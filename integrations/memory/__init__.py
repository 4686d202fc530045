"""The memories: each folder is one way to store and find what an agent should remember.

The module beside the folders has the tools over any of them. The contract, chunking and ranking are not here but in
hub/memory.
"""
