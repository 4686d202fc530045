"""What comes in: on disk before it is acknowledged, with its attachments.

Not here: the decision about it (`hub.messaging.access.access`).
"""
