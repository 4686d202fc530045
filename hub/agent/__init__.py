"""One activation of an agent: its workspace and prompt, the loop of model calls and tools, the run and its recovery.

`hub/messaging` and `hub/gateway` decide who may start a run; `hub/sessions` stores the conversations.
"""
