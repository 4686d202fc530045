"""The answer of a run: the form it was asked for, and the pauses between its messages.

How it is cut and sent is decided in `hub/messaging/outbox`.
"""
