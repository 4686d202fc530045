"""The chat platforms: each folder carries messages between one platform and the inbox and outbox of the hub.

The modules beside the folders hold what several platforms share: requests, connections, rooms that are read again.
Who may talk, to which agent, and what happens with a message is not decided here but in hub/messaging.
"""
