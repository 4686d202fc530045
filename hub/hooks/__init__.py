"""Hooks: code of integrations and of the home that is called at fixed points, and may change what happens there.

The bus tells what happened; a hook is asked before it happens. No rule of the hub is kept here.
"""
