"""Blueprints: automations with inputs that a person fills in; read, checked, filled in, imported, kept up to date.

Not here: the grammar of what comes out (`hub.automation.definition.grammar`), nor the bundled files (`blueprints/`).
"""
