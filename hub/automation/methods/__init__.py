"""Gateway methods of this part, a module for each family of them.

They check parameters and call the domain, which does not import them.
"""
