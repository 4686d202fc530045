"""What is stored of runs: rows, traces, the view that surfaces show, recovery after a crash, and replays.

An active run is in `hub/agent/run.py`.
"""
