"""The pages of runs: what agents did, from the message to the reply.

Not here: what is recorded (`hub/agent/run_trace`), and who may see it (`hub/agent/methods/runs`).
"""
