"""What the hub itself tells people in their chats: what waits for their answer, and what may not have arrived.

Not here: how it is sent (`hub/messaging/outbox`), and notifications of phones and browsers.
"""
