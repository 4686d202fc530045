"""`outbox.*`: messages to be sent and failed ones; `message.send|poll|react`; `channels.directory`."""

from __future__ import annotations

import binascii
import mimetypes
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from hub.agent.agents import Agents
from hub.agent.workspace.workspace import MEDIA, Workspaces
from hub.automation.services.addresses import LIKE_AN_ADDRESS, Addresses, DeliveryTarget
from hub.automation.services.agent_messages import check_ability
from hub.config.suggest import nearest
from hub.core.errors import Forbidden, InvalidRequest, NotFound, Unavailable
from hub.core.executors import FILES
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    ensure_list,
    integer,
    string,
)
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, WRITE, Method, MethodCall
from hub.messaging.contract import OutboundMedia
from hub.messaging.directory import look_up
from hub.messaging.outbox.outbox import LIST_LIMIT, Outbox
from hub.messaging.outbox.outbox_rows import NewMessage, NewPoll, NewReaction, NewText, OutboxRow, Outgoing
from hub.messaging.outbox.replies import kind_of
from hub.messaging.places import channel_and_peer

OWNER = "gateway"
STATES = ("queued", "sending", "sent", "unknown", "dead", "stopped")
WAIT_MS = 30_000
FILE_LIMIT_BYTES = 16_000_000

_ID = All(string, Length(min=1, max=128))
_NAME = All(string, Length(min=1, max=512))
_MAYBE = AnyOf(None, _NAME)
_TEXT = All(string, Length(max=100_000))
_ONE = Schema({Required("id"): _ID})
_LIST = Schema(
    {
        Optional("state"): ensure_list(In(STATES)),
        Optional("limit", default=50): All(integer, Range(min=1, max=LIST_LIMIT)),
    }
)
_CHAT = {
    Optional("channel", description="May be left out where only one platform is connected."): _MAYBE,
    Required("to", description="The platform's id of a person, group or room, or what a known chat is called."): _NAME,
    Optional("accountId"): _MAYBE,
    Optional("threadId"): _MAYBE,
    Optional("timeoutMs", default=WAIT_MS, description="How long the answer waits for the outcome."): All(
        integer, Range(min=0, max=50_000)
    ),
}
_SEND = Schema(
    {
        **_CHAT,
        Optional("message", default=""): _TEXT,
        Optional("buffer", description="A file in base64, as the protocol sends one."): string,
        Optional("filename"): _NAME,
        Optional("contentType"): _MAYBE,
        Optional("media", description="A file: its name, and its content in base64."): Schema(
            {Required("fileName"): _NAME, Required("content"): string, Optional("mimeType"): _MAYBE}
        ),
    }
)
_DIRECTORY = Schema(
    {
        Optional("channel"): _MAYBE,
        Optional("query", default=""): All(string, Length(max=512)),
        Optional("platforms", default=False, description="Ask the platforms too, where they have a directory."): (
            boolean
        ),
    }
)
_POLL = Schema(
    {
        **_CHAT,
        Required("question"): _NAME,
        Required("options"): All([_NAME], Length(min=2, max=20)),
        Optional("multiple", default=False, description="Whether several may be chosen."): boolean,
    }
)
_REACT = Schema(
    {
        **_CHAT,
        Required("messageId", description="The platform's id of the message."): _NAME,
        Optional("emoji", description="Null takes the reaction back."): _MAYBE,
    }
)


class OutboxMethods:
    """The methods about sending.

    Args:
        outbox: Sends the messages.
        addresses: Finds the kind of a peer's chat.
        agents: The default one's workspace stores the attachments.
        workspaces: The workspaces of the agents.
    """

    def __init__(self, outbox: Outbox, addresses: Addresses, agents: Agents, workspaces: Workspaces) -> None:
        self._outbox = outbox
        self._addresses = addresses
        self._agents = agents
        self._workspaces = workspaces

    def methods(self) -> list[Method]:
        """Return the methods."""
        sending = [
            Method(name, self._send, OWNER, _SEND, WRITE, acts=True, frame_limit=LARGE_FRAME_BYTES)
            for name in ("message.send", "send")
        ]
        return [
            Method("outbox.list", self._list, OWNER, _LIST, ADMIN),
            Method("outbox.get", self._get, OWNER, _ONE, ADMIN),
            Method("outbox.retry", self._retry, OWNER, _ONE, ADMIN, acts=True),
            Method("outbox.drop", self._drop, OWNER, _ONE, ADMIN, acts=True),
            *sending,
            Method("channels.directory", self._directory, OWNER, _DIRECTORY, ADMIN),
            Method("message.poll", self._poll, OWNER, _POLL, WRITE, acts=True),
            Method("message.react", self._react, OWNER, _REACT, WRITE, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        rows = await self._outbox.rows(tuple(call.params.get("state", ())), call.params["limit"])
        waiting = [each.as_dict() for each in await self._outbox.waiting()]
        return {"messages": [_shown(row) for row in rows], "counts": await self._outbox.counts(), "waiting": waiting}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        return _shown(await self._outbox.get(call.params["id"]))

    async def _retry(self, call: MethodCall) -> Mapping[str, Any]:
        return _shown(await self._outbox.retry(call.params["id"]))

    async def _drop(self, call: MethodCall) -> Mapping[str, Any]:
        return _shown(await self._outbox.drop(call.params["id"]))

    async def _send(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        place = await self._place(call)
        file = params.get("media")
        if "buffer" in params:
            named = {"fileName": params.get("filename", "file"), "mimeType": params.get("contentType")}
            file = {**named, "content": params["buffer"]}
        media = (await self._stored(file),) if file is not None else ()
        if not params["message"].strip() and not media:
            raise InvalidRequest("message: expected the text to send")
        return await self._sent(call, place, NewMessage(params["message"], media=media))

    async def _directory(self, call: MethodCall) -> Mapping[str, Any]:
        channel, query = call.params.get("channel"), call.params["query"].strip()
        if call.params["platforms"] and not query:
            raise InvalidRequest("query: expected a part of a name to ask the platforms for")
        known = [
            each.as_dict()
            for each in await self._addresses.known_chats()
            if channel in (None, each.address.channel)
            and query.casefold() in f"{each.name or ''} {each.written}".casefold()
        ]
        if not call.params["platforms"]:
            return {"chats": known}
        heard = {(each["accountId"], each["to"]) for each in known}
        listing = await look_up(self._outbox.channels, query, channel)
        listed = [each for one in listing.chats if ((each := one.as_dict())["accountId"], each["to"]) not in heard]
        return {"chats": known + listed, "problems": list(listing.problems), "asked": sorted(listing.asked)}

    async def _poll(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        poll = NewPoll(params["question"], tuple(params["options"]), params["multiple"])
        return await self._sent(call, await self._place(call), poll)

    async def _react(self, call: MethodCall) -> Mapping[str, Any]:
        reaction = NewReaction(call.params["messageId"], call.params.get("emoji"))
        return await self._sent(call, await self._place(call), reaction)

    async def _place(self, call: MethodCall) -> DeliveryTarget:
        """Return the chat that a call names."""
        params = call.params
        if not call.context.authority.owner:
            raise Forbidden("only an owner of this home may send messages to any chat")
        where = (params.get("channel"), params.get("accountId"), params.get("threadId"))
        if (named := await self._addresses.called(params["to"], *where)) is not None:
            return named
        channel, to = await self._chat(params)
        return await self._addresses.at(channel, to, params.get("accountId") or "default", params.get("threadId"))

    async def _sent(self, call: MethodCall, place: DeliveryTarget, content: Outgoing) -> Mapping[str, Any]:
        """Send something, and return what became of it."""
        address = place.address
        attached = self._outbox.channels.get(address.channel, address.account)
        if attached is None:
            told = f"{address.channel} account {address.account!r} is not logged in; see homarus channels status"
            raise Unavailable(told)
        if not isinstance(content, NewMessage):  # a file that cannot be sent is named in the text
            check_ability(content, attached)
        ids = await self._outbox.send(place.address, content, call.context, session_key=place.session_key)
        rows = await self._outbox.outcome(ids, call.params["timeoutMs"] / 1000)
        worst = min(rows, key=lambda row: ("dead", "stopped", "unknown", "queued", "sending", "sent").index(row.state))
        platform_ids = [id for row in rows for id in row.platform_ids]
        return {
            "runId": ids[0],
            "messageId": platform_ids[0] if platform_ids else None,
            "messageIds": platform_ids,
            "channel": address.channel,
            "to": address.peer,
            "state": worst.state,
            "error": worst.error,
            "messages": [_shown(row) for row in rows],
        }

    async def _chat(self, params: Mapping[str, Any]) -> tuple[str, str]:
        """Return the named platform, or the only connected one, and the peer on it.

        Raises:
            InvalidRequest: Several platforms are connected, or none.
            NotFound: It may be a mistyped name: only what looks like an address goes to a platform that is not named.
        """
        channels, to = self._outbox.channels, str(params["to"])
        if params.get("channel"):
            return str(params["channel"]), to
        if ":" in to and nearest(to.partition(":")[0], {channel for channel, _ in channels.places()}) is not None:
            return channel_and_peer(None, to)
        names = sorted({each.channel.name for each in channels.all()} - {channels.home})
        if len(names) != 1:
            known = ", ".join(names) or "none is connected"
            raise InvalidRequest(f"send: channel: say on which platform: {known}")
        if not LIKE_AN_ADDRESS.fullmatch(to):
            hint = await self._addresses.suggestion(to)
            raise NotFound(
                f"to: no chat is called {to[:80]!r}{hint and f'; {hint}'} `homarus directory` lists those that"
                f" are known. If it is an address of the platform, give {names[0]}:{to[:80]}"
            )
        return names[0], to

    async def _stored(self, media: Mapping[str, Any]) -> OutboundMedia:
        """Store a file with the attachments of the default agent, which are deleted after a while."""
        try:
            data = b64decode(media["content"], validate=True)
        except (binascii.Error, ValueError):
            raise InvalidRequest("media.content: expected base64") from None
        if not 0 < len(data) <= FILE_LIMIT_BYTES:
            raise InvalidRequest(f"media.content: a file has 1 to {FILE_LIMIT_BYTES} bytes")
        name = PurePosixPath(media["fileName"].replace("\\", "/")).name
        mime_type = media.get("mimeType") or mimetypes.guess_type(name)[0] or "application/octet-stream"
        suffix = mimetypes.guess_extension(mime_type) or ".bin"
        agent = self._agents.default()
        path = f"{MEDIA}/outgoing/{sha256(data).hexdigest()[:24]}{suffix}"
        if not self._workspaces.is_ready(agent.id):
            await FILES.run(self._workspaces.ensure, agent.id)
        root = self._workspaces.root(agent.id)
        await FILES.run(root.write_bytes, path, data, parents=True)
        return OutboundMedia(kind_of(mime_type), str(root.path / path), mime_type, name)


def _shown(row: OutboxRow) -> dict[str, Any]:
    address, outgoing = row.address, row.outgoing
    return {
        "id": row.id,
        "state": row.state,
        "kind": row.kind,
        "channel": address.channel,
        "account": address.account,
        "to": address.peer,
        "thread": address.thread,
        "sessionKey": row.session_key,
        "runId": row.run_id,
        "text": outgoing.text if isinstance(outgoing, NewMessage | NewText) else None,
        "media": [each.name for each in outgoing.media] if isinstance(outgoing, NewMessage) else [],
        "attempts": row.attempts,
        "error": row.error,
        "messageIds": list(row.platform_ids),
        "createdAtMs": row.created_ms,
        "nextAtMs": row.next_ms if row.state == "queued" else None,
        "updatedAtMs": row.updated_ms,
    }
