"""The inbox: messages are on disk before they are acknowledged, with their attachments.

Not here: the decision about it (`hub.messaging.access.access`).
"""
