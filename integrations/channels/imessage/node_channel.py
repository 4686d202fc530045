"""iMessage by the node program on a Mac: its database is read, and Messages sends by AppleScript."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import DeliveryState, OutboundMedia, OutboundMessage, Receiver
from hub.nodes.failures import CONNECTION, CommandNotAllowed, NodeRefused
from hub.nodes.registry import NodeRegistry
from integrations.channels.http_api import PlatformError, surely_not_sent
from integrations.channels.imessage.channel import IMessageAccount, MacChannel, file_name
from integrations.channels.imessage.events import Json, address_of

READ, CHATS, ATTACHMENT = "imessage.read", "imessage.chats", "imessage.attachment"
UPLOAD, SEND = "imessage.upload", "imessage.send"
COMMANDS = (READ, CHATS, ATTACHMENT, UPLOAD, SEND)
SEND_LIMIT_S = 90.0
UPLOAD_BYTES = 131_072
_STATES = {
    CONNECTION: DeliveryState.UNKNOWN,
    "BUSY": DeliveryState.TRANSIENT,
    **dict.fromkeys(("NOT_SENT", "INVALID_PARAMS", "NOT_FOUND", "FILE_TOO_LARGE"), DeliveryState.PERMANENT),
}
"""What the codes of the node mean for a message; another one tells nothing."""


class NodeMac:
    """The commands of one Mac, which is a node.

    Args:
        node: Its name or id.
    """

    def __init__(self, nodes: NodeRegistry, node: str) -> None:
        self._nodes = nodes
        self._node = node
        self.is_open = True

    async def close(self) -> None:
        """Ask nothing more."""
        self.is_open = False

    def identity(self) -> tuple[str, str]:
        """Return the id and the name of the node.

        Raises:
            PlatformError: There is none.
        """
        record = self._nodes.records.find(self._node)
        if record is None:
            raise _error(DeliveryState.TRANSIENT, f"there is no node {self._node}")
        return record.id, record.title

    def missing(self) -> list[str]:
        """Return the commands that the node does not have, or that are not permitted."""
        return sorted({*COMMANDS} - self._nodes.commands(self.identity()[0]))

    async def call(self, command: str, limit_s: float = 30.0, **params: Any) -> Mapping[str, Any]:
        """Return the answer of the node.

        Raises:
            PlatformError: It refused, is away, or its answer was lost.
        """
        if not self.is_open:
            raise _error(DeliveryState.TRANSIENT, "the account is logged out")
        id, name = self.identity()
        if self._nodes.get(id) is None:
            raise _error(DeliveryState.TRANSIENT, f"the node {name} is not connected")
        try:
            return await self._nodes.invoke(id, command, params, timeout_s=limit_s)
        except CommandNotAllowed as error:
            raise _error(DeliveryState.PERMANENT, error.message) from error
        except NodeRefused as error:
            raise _error(_STATES.get(error.node_code, DeliveryState.UNKNOWN), error.message) from error
        except HubError as error:
            raise _error(DeliveryState.UNKNOWN, error.message) from error

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield an attachment by its guid.

        Raises:
            PlatformError: It is not available.
        """
        offset, is_last = 0, False
        while not is_last:
            answer = await self.call(ATTACHMENT, guid=reference, offset=offset)
            try:
                piece, is_last = base64.b64decode(answer["base64"], validate=True), bool(answer["end"])
            except (binascii.Error, LookupError, TypeError, ValueError) as error:
                raise _error(DeliveryState.PERMANENT, "an attachment is not as the node program gives it") from error
            if not piece and not is_last:
                raise _error(DeliveryState.PERMANENT, "an attachment ended too early")
            offset += len(piece)
            yield piece


class NodeIMessageChannel(MacChannel):
    """One Mac with the node program."""

    _api: NodeMac

    def __init__(self, config: IMessageAccount, clock: Clock, nodes: NodeRegistry) -> None:
        super().__init__(config, clock)
        self._nodes = nodes

    async def start(self, receive: Receiver) -> None:
        """Start listening."""
        self._receive = receive
        self._api = NodeMac(self._nodes, self._config.node)
        self._keep_connected(self._connect, receive)

    async def _who(self) -> dict[str, Any]:
        id, name = self._api.identity()
        missing = [phrase("The node may not be asked for {command}.", command=each) for each in self._api.missing()]
        if not missing:
            await self._api.call(READ, after=2**53, limit=1)
        return {"account_id": id, "name": name, "missing": missing}

    async def _connect(self) -> str:
        newest = int((await self._api.call(READ, after=2**53, limit=1))["newest"])
        self._receive.identified(*self._api.identity())
        self._receive.connected()
        await self._poll(newest)
        return "unreachable"  # pragma: no cover

    async def _rows_after(self, row: int) -> Sequence[Json]:
        return list((await self._api.call(READ, after=row))["messages"])

    async def _rows_of(self, chat: str, row: int | None, since: float) -> Sequence[Json]:
        about: dict[str, Any] = {"after": row} if row is not None else {"since": since}
        return list((await self._api.call(READ, chat=chat, **about))["messages"])

    async def _send_text(self, message: OutboundMessage, chat: str, text: str) -> Json:
        return await self._sent_as(chat=chat, text=text)

    async def _send_file(self, message: OutboundMessage, chat: str, media: OutboundMedia) -> Json:
        content, name = await asyncio.to_thread(Path(media.path).read_bytes), file_name(media)
        with surely_not_sent():
            for offset in range(0, max(1, len(content)), UPLOAD_BYTES):
                piece = base64.b64encode(content[offset : offset + UPLOAD_BYTES]).decode()
                await self._api.call(UPLOAD, upload=message.id, name=name, offset=offset, contentBase64=piece)
        return await self._sent_as(chat=chat, upload=message.id, name=name)

    async def _sent_as(self, **sent: Any) -> Json:
        message = (await self._api.call(SEND, SEND_LIMIT_S, **sent))["message"]
        if message is None:
            raise _error(DeliveryState.UNKNOWN, "Messages took it, and does not show it")
        return dict(message)

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return groups of the Mac whose name holds a text."""
        found = (await self._api.call(CHATS, query=query, limit=limit))["chats"]
        places = ((address_of(each["guid"], self.account), each["displayName"]) for each in found)
        return [DirectoryEntry(place.peer, name, place.chat_type) for place, name in places]


def _error(state: DeliveryState, message: str) -> PlatformError:
    return PlatformError(state, f"iMessage: {message}")
