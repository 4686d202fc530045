"""Moving in: what another program's folder or export holds, what of it runs here, how it comes and is undone.

Not here: the memory of other assistants (`hub/memory/importing.py`), and the bridge to a running Home Assistant.
"""
