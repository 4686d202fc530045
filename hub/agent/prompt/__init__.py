"""The system prompt: the facts behind it, the text made of them, and a report of how large each part is.

Tools that it describes come from `hub/tools`, files from `hub/agent/workspace`.
"""
