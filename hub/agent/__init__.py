"""One activation of an agent: its workspace and prompt, the loop of model calls and tools, the run and its recovery.

Who may start a run is decided in `hub/messaging` and `hub/gateway`; what is said is kept by `hub/sessions`.
"""
