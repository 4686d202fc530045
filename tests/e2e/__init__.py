"""The hub as a person meets it: a process of its own, its command line, its sockets and the programs of others.

What a single part does is tested beside that part.
"""
