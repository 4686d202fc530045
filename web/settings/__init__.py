"""The configuration pages: the YAML editor, its check, history and differences.

Not here: reading and writing configuration (`hub/config`).
"""
