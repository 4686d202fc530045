"""What is kept of runs: rows, traces, the view that surfaces show, what happens after a crash, and replays.

A run that goes on is in `hub/agent/run.py`.
"""
