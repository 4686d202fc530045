"""Commands of this part on the command line, and the program that makes its plans.

Imported when they are called.
"""
