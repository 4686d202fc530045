"""What memory knows, put before a message; and all that connects conversations with memory, assembled.

The memory itself lies in `hub/memory`; what is written down behind a conversation in `hub/agent/flush`.
"""
