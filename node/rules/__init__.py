"""The rules for commands, which the hub and the node program share: how one is read, and which run without asking.

Pure, and of the standard library alone. What is bound, asked and started is for those who use them.
"""
