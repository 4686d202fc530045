"""The pages about channels: their accounts, who asks to talk, and what could not be delivered.

Not here: conversations (`web/chat`).
"""
