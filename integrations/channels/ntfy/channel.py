"""ntfy as a channel: topics of one server."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    Button,
    ButtonPressed,
    ChannelLimits,
    Delivery,
    DeliveryState,
    Inbound,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
    TextUnit,
)
from integrations.channels.acknowledging import MALFORMED, offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.http_api import PlatformError
from integrations.channels.ntfy.api import NtfyApi, bearer
from integrations.channels.ntfy.events import OURS, PRESS, NtfyButton, of_message, peer_of
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import AccountRefused

_log = logging.getLogger(__name__)

TEXT_BYTES = 4_096
MEDIA_BYTES = 15_000_000
BUTTONS, BUTTONS_KEPT = 3, 200
SILENCE_S = 100.0
"""ntfy says every 45 seconds that it is there."""
CLOCK_SKEW_S = 60.0
SENT_KEPT = 500
TITLE_BYTES = 200
"""A longer heading stays in the text: a notification shows a line of its title."""
SILENT = "2"
"""The priority without a sound."""
REFUSED = "ntfy refused the account. Look at the token, or the user and the password; see docs/channels/ntfy.md."
CLOSED = "A topic may not be read by this account. Look at its name, and at the access rules of the server."

_HEADING = re.compile(r"\s*#{1,6} +(\S[^\n]*?)[ #]*(?:\n|$)")


class NtfyAccount(Struct, frozen=True):
    """One entry of the configuration; `topics` has commas between them."""

    account: str
    url: str
    topics: Secret
    token: Secret | None = None
    user: str | None = None
    password: Secret | None = None
    button_token: Secret | None = None


class NtfyChannel(ApiChannel):
    """Some topics of one server, each of them a person.

    Args:
        silence_s: How long the server may say nothing.
    """

    name = "ntfy"
    _api: NtfyApi

    def __init__(self, config: NtfyAccount, clock: Clock, *, silence_s: float = SILENCE_S) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._silence_s = silence_s
        self._topics = {peer_of(topic): topic for each in config.topics.reveal().split(",") if (topic := each.strip())}
        self._sent: dict[str, None] = {}
        has_login = config.token is not None or config.user is not None
        self.limits = ChannelLimits(
            text=TEXT_BYTES,
            unit=TextUnit.BYTES,
            media=frozenset(MediaKind),
            media_bytes=MEDIA_BYTES,
            # A phone that presses one writes to the topic, and must be let in there without the hub's own token.
            buttons=BUTTONS if config.button_token is not None or not has_login else 0,
            markup="markdown",
            weak_identity=True,
        )

    async def start(self, receive: Receiver) -> None:
        """Subscribe to the topics."""
        config = self._config
        self._api = NtfyApi(config.url, config.token, config.user, config.password)
        self._receive = receive
        self._buttons = PersistentMap(receive, "buttons", BUTTONS_KEPT, NtfyButton)
        self._since: str | None = None
        self._keep_connected(self._connect, receive)

    async def _who(self) -> dict[str, Any]:
        closed = [topic for topic in self._topics.values() if not await self._api.may_read(topic)]
        missing = [phrase("It may not read {count} of its topics.", count=len(closed))] if closed else []
        return {"name": urlsplit(self._config.url).netloc, "missing": missing}

    # --- in ---

    async def _connect(self) -> str | None:
        topics = ",".join(self._topics.values())
        try:
            if not await self._api.may_read(topics):
                raise AccountRefused(CLOSED)
            if self._since is None:
                await self._begin(topics)
            async for line in self._api.stream(topics, self._since or "all", self._silence_s):
                self._receive.progress()
                await self._take(line)
        except PlatformError as error:
            if error.status in (401, 403):
                raise AccountRefused(REFUSED) from error
            raise
        return "ntfy closed the stream"

    async def _begin(self, topics: str) -> None:
        """Find out where to read on; what was written before the account was added is not for it."""
        past = await self._api.past(topics, "all")
        ids = [each["id"] for each in past if each.get("event") == "message"]
        server = urlsplit(self._config.url).netloc
        self._receive.identified(f"{server}/{'+'.join(sorted(self._topics))}", server)
        await self._buttons.load()
        kept = await self._receive.cursor()
        if kept is None:
            kept = ids[-1] if ids else "all"
            await self._receive.keep_cursor(kept)
        self._since = kept

    async def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind = event["event"]
        except MALFORMED:
            _log.warning("ntfy: an event is no JSON and is left out")
            return
        if kind == "open":
            self._receive.connected()
        if kind != "message":
            return
        inbound: Inbound | None = None
        with skip_if_malformed("ntfy: a message"):
            peers = {topic: peer for peer, topic in self._topics.items()}
            inbound = of_message(event, peers, self.account, self._buttons.get)
        receipt = await offer(self._receive, inbound) if inbound is not None else None
        if isinstance(id := event.get("id"), str):
            self._since = id
            await self._receive.keep_cursor(id)
        if receipt is not None and receipt.notice and isinstance(inbound, ButtonPressed):
            self._tasks.spawn(self._tell(inbound.address, receipt.notice), name="answer a button")

    async def _tell(self, address: Address, text: str) -> None:
        """Say something whose loss does not matter."""
        with suppress(HubError):
            headers = {"Tags": f"{OURS},information_source", "Priority": SILENT}
            await self._api.publish(self._topics[address.peer], text.encode(), headers)

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        topic = self._topics.get(message.address.peer)
        if topic is None:
            raise self._api.error(DeliveryState.PERMANENT, "the account has no such topic any more")
        headers = {"Tags": OURS, "Markdown": "yes", **({"Priority": SILENT} if message.silent else {})}
        if message.media:
            content = await self._file(message.media[0], headers)
        else:
            title, text = titled(message.text)
            content = text.encode()
            if title:
                headers["Title"] = header_of(title)
        names = await self._remember(message)
        if names:
            headers["Actions"] = json.dumps([self._action(topic, *each) for each in names])
        id = await self._api.publish(topic, content, headers)
        self._sent[id] = None
        if len(self._sent) > SENT_KEPT:
            del self._sent[next(iter(self._sent))]
        for name, button in names:
            with suppress(HubError):  # the press then counts without the message that it is below
                await self._buttons.put(name, NtfyButton(message.address.peer, button.value, id))
        return id

    async def _file(self, media: OutboundMedia, headers: dict[str, str]) -> bytes:
        path = Path(media.path)
        headers["Filename"] = header_of(media.name or path.name)
        return await asyncio.to_thread(path.read_bytes)

    async def _remember(self, message: OutboundMessage) -> list[tuple[str, Button]]:
        """Return the buttons of a message with names for them, which are kept before they are shown."""
        named = []
        for button in (each for row in message.buttons for each in row):
            name = sha256(f"{message.id}\n{button.value}".encode()).hexdigest()[:20]
            await self._buttons.put(name, NtfyButton(message.address.peer, button.value))
            named.append((name, button))
        return named

    def _action(self, topic: str, name: str, button: Button) -> dict[str, Any]:
        """Return an action that publishes to the topic, in the name of whoever pressed."""
        token = self._config.button_token
        return {
            "action": "http",
            "label": button.label,
            "url": f"{self._api.root}{topic}",
            "method": "POST",
            "headers": {"Tags": f"{PRESS},{name}", **({"Authorization": bearer(token)} if token else {})},
            "body": button.label,
            "clear": True,
        }

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look a message up among those that the server still knows, by its words or its file's name."""
        topic = self._topics.get(message.address.peer)
        if topic is None:
            return None
        name = (message.media[0].name or Path(message.media[0].path).name) if message.media else None
        for each in await self._api.past(topic, str(int(since - CLOCK_SKEW_S))):
            ours = OURS in (each.get("tags") or []) and each.get("id") not in self._sent
            if name:
                is_it = (each.get("attachment") or {}).get("name") == name
            else:
                said = titled(message.text)
                is_it = (each.get("title") or "", (each.get("message") or "").strip()) == (said[0], said[1].strip())
            if ours and is_it:
                return Delivery(DeliveryState.DELIVERED, (each["id"],))
        return None


def titled(text: str) -> tuple[str, str]:
    """Return the title and the text of a notification: a heading at the beginning, if something follows it."""
    found = _HEADING.match(text)
    if found is None or not text[found.end() :].strip() or len(found[1].encode()) > TITLE_BYTES:
        return "", text
    return found[1], text[found.end() :].lstrip("\n")


def header_of(value: str) -> str:
    """Return a value of a header, encoded (RFC 2047) where it is more than ASCII."""
    if value.isascii() and value.isprintable():
        return value
    return f"=?UTF-8?B?{base64.b64encode(value.encode()).decode()}?="
