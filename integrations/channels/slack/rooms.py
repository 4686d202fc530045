"""The conversations of one app, and the threads in them that it takes part in."""

from __future__ import annotations

from hub.messaging.contract import Address, ChatType
from integrations.channels.followed_rooms import FollowedRoom


class SlackRoom(FollowedRoom, omit_defaults=True, kw_only=True):
    """A conversation, or a thread in one.

    Attributes:
        id: That of the conversation; for a thread, followed by a colon and the id of its first message.
        kind: im, mpim, channel or group, as Slack calls them.
    """

    kind: str = "channel"

    def address(self, account: str, team: str, thread: str | None = None) -> Address:
        """Return the address of the conversation; direct messages go by the person."""
        if self.person is not None:
            return Address("slack", self.person, account, thread=thread, space=team)
        kind = ChatType.GROUP if self.kind == "mpim" else ChatType.CHANNEL
        return Address("slack", self.id, account, chat_type=kind, thread=thread, space=team)
