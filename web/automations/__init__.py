"""The automation pages: list, form and YAML editor, traces, blueprints, scripts.

Not here: the engine (`hub/automation`).
"""
