"""What is sent: shaped, cut, kept until the platform has it, and shown while it is written.

Not here: how a platform takes it (`integrations/channels`).
"""
