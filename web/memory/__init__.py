"""The memory pages: files, search, history, index, intents, editing.

Not here: the memory itself (`hub/memory`, `integrations/memory`).
"""
