"""What a run may spend: its own limits, when its calls count as repetition, and the budgets over many runs.

The ledger counts what was spent; `hub/agent/loop.py` asks the limits at each step.
"""
