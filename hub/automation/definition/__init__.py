"""The definition of automations: the grammar of the YAML, the kinds, and the explanation in words.

Not here: running it (`running/`), nor changing its file (`editing/`).
"""
