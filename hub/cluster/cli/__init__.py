"""Commands of this part on the command line, imported when they are called.

They ask a running hub through `hub.cli`, the frame that all commands share.
"""
