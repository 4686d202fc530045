"""Components of this part: each makes a piece of it, starts and stops it, and applies changes.

The rules themselves are in the sibling folders; nothing in this part imports the components.
"""
