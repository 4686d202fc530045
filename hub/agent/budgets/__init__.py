"""Budgets over runs: their configuration, the rules that judge them, and the ledger that counts what was spent.

Limits of a single run are in `hub/agent/limits.py`.
"""
