"""What an automation may say: the grammar of its YAML, the kinds it is made of, and its explanation in words.

Not here: running it (`running/`), nor changing its file (`editing/`).
"""
