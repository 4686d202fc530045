"""Words from outside: whose words count as requests, which conversations and files hold others, and who can read them.

The owner lifts a taint here; what it forbids is decided in `hub/tools` and `hub/security`.
"""
