"""Commands of this part on the command line, imported when they are called.

They look at the files of a home themselves, and ask its hub where one runs.
"""
