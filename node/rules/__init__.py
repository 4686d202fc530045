"""The rules for commands, which the hub and the node program share: how one is read, and which run without asking.

Of the standard library alone, and pure but for `system_programs`. What is bound, asked and started is for their users.
"""
