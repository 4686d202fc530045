"""Scripted servers of other people's protocols, real sockets and all, for tests and benchmarks.

They know nothing of Homarus and import nothing of it.
"""
