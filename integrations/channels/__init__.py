"""The chat platforms: each folder carries messages between one platform and the inbox and outbox of the hub.

Who may talk, to which agent, and what happens with a message is not decided here but in hub/messaging.
"""
