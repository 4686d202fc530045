"""Signal as a channel: one account of a signal-cli daemon."""

from __future__ import annotations

import base64
import json
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from typing import Any

import aiohttp

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest
from hub.core.tasks import TaskOwner
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    Media,
    MediaKind,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.signal.events import inbound_of, message_id, split_id
from integrations.channels.signal.rpc import REQUEST_LIMIT_S, SILENCE_LIMIT_S, SignalError, SignalRpc, failure_of

_log = logging.getLogger(__name__)

TEXT_BYTES = 2_000
MEDIA_BYTES = 100_000_000
SENT_LIMIT = 1_000
"""Own messages that are remembered, to know their echoes by."""
STORE_DELAY_S = 2.0
BACKOFF_FIRST_S = 1.0
BACKOFF_LIMIT_S = 60.0


class SignalChannel:
    """One account.

    Args:
        account: Its name in the configuration.
        url: Where the daemon listens.
        silence_s: A stream that is silent for so long is dead.
    """

    name = "signal"
    limits = ChannelLimits(
        text=TEXT_BYTES,
        unit=TextUnit.BYTES,
        caption=TEXT_BYTES,
        media=frozenset(MediaKind),
        media_bytes=MEDIA_BYTES,
        draft_interval_s=4.0,
        edits=10,
        block_chars=1_500,
    )

    def __init__(
        self, account: str, url: str, number: str, clock: Clock, *, silence_s: float = SILENCE_LIMIT_S
    ) -> None:
        self.account = account
        self._url = url
        self._number = number
        self._clock = clock
        self._silence_s = silence_s
        self._me: set[str] = {number}
        self._sent: deque[int] = deque(maxlen=SENT_LIMIT)
        self._reactions: dict[tuple[str, str], str] = {}
        self._tasks = TaskOwner(f"signal {account}")

    async def start(self, receive: Receiver) -> None:
        """Start listening."""
        self._receive = receive
        session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=REQUEST_LIMIT_S), cookie_jar=aiohttp.DummyCookieJar()
        )
        self._rpc = SignalRpc(session, self._url, self._number, self._silence_s)
        self._tasks.spawn(self._listen(), name="events")

    async def stop(self) -> None:
        """Close the stream."""
        await self._tasks.cancel_all()
        await self._rpc.session.close()

    async def probe(self) -> dict[str, Any]:
        """Ask the daemon for its version, and whether the account is there."""
        try:
            version = await self._rpc.call("version")
            await self._rpc.call("getUserStatus", recipient=[self._number])
        except SignalError as error:
            return {"ok": False, "error": error.message}
        return {"ok": True, "id": self._number, "name": f"signal-cli {version.get('version', '')}".strip()}

    # --- in ---

    async def _listen(self) -> None:
        wait = 0.0
        while True:
            self._opened = False
            try:
                await self._find_out_who()
                async with aclosing(self._rpc.events(self._streams, self._receive.progress)) as events:
                    async for text in events:
                        await self._take(text)
                reason = "signal-cli closed the stream"
            except SignalError as error:
                reason = error.message
                if error.state is DeliveryState.PERMANENT:
                    self._receive.disconnected(f"{reason}. See docs/channels/signal.md.", permanent=True)
                    return
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
                reason = f"signal-cli cannot be reached: {str(error) or type(error).__name__}"
            wait = BACKOFF_FIRST_S if self._opened else min(max(wait * 2, BACKOFF_FIRST_S), BACKOFF_LIMIT_S)
            self._receive.disconnected(reason)
            # Jitter spreads reconnects; it guards nothing.
            await self._clock.sleep(wait * (1 + 0.25 * random.random()))  # noqa: S311

    async def _find_out_who(self) -> None:
        """Learn the account's own id; its number may change hands."""
        found = await self._rpc.call("getUserStatus", recipient=[self._number])
        self._me |= {each["uuid"] for each in found if each.get("uuid")}

    def _streams(self) -> None:
        self._opened = True
        ids = self._me - {self._number}
        self._receive.connected(min(ids, default=self._number), self._number)

    async def _take(self, text: str) -> None:
        said: list[Inbound] = []
        try:
            event = json.loads(text)
            if event.get("account") in (None, self._number):
                said += inbound_of(event["envelope"], self._me, self.account, self._sent)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            _log.warning("signal: an event is not as expected and is left out: %r", error)
        for inbound in said:
            await self._offer(inbound)

    async def _offer(self, inbound: Inbound) -> None:
        """Hand something over, again and again: signal-cli has given it away and does not bring it back."""
        while True:
            try:
                await self._receive(inbound)
                return
            except InvalidRequest as error:
                _log.warning("signal: a message cannot be taken: %s", error)
                return
            except HubError as error:
                _log.warning("signal: a message waits to be stored: %s", error)
                await self._clock.sleep(STORE_DELAY_S)

    async def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment, which the daemon has."""
        group = address.chat_type is not ChatType.DIRECT
        where = {"groupId": address.peer} if group else {"recipient": address.peer}
        found = await self._rpc.call("getAttachment", id=media.reference, **where)
        yield base64.b64decode(found["data"] if isinstance(found, dict) else found)

    # --- out ---

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message, in Signal's own styles."""
        return await self._delivery(self._send(message))

    async def _send(self, message: OutboundMessage) -> int:
        quote: dict[str, Any] = {}
        if message.reply_to:
            try:
                timestamp, author = split_id(message.reply_to)
                quote = {"quoteTimestamp": timestamp, "quoteAuthor": author}
            except ValueError:
                _log.info("signal: %r is no message to quote", message.reply_to)
        return await self._call(
            "send",
            message.address,
            message=render(message.text, Flavour.PLAIN),
            attachments=[each.path for each in message.media] or None,
            **quote,
        )

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text."""
        return await self._on_own("send", address, platform_id, "editTimestamp", message=render(text, Flavour.PLAIN))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message for everybody."""
        return await self._on_own("remoteDelete", address, platform_id, "targetTimestamp")

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; Signal wants to know what is taken back."""
        key = (address.peer, platform_id)
        try:
            timestamp, author = split_id(platform_id)
        except ValueError:
            return Delivery(DeliveryState.PERMANENT, error=f"{platform_id!r} is no message of Signal's")
        shown = emoji or self._reactions.pop(key, "👍")
        if emoji is not None:
            self._reactions = dict([*self._reactions.items(), (key, emoji)][-SENT_LIMIT:])
        about = {"targetTimestamp": timestamp, "targetAuthor": author, "remove": emoji is None or None}
        return await self._delivery(self._call("sendReaction", address, emoji=shown, **about))

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll."""
        opening = self._call(
            "sendPollCreate",
            poll.address,
            question=poll.question,
            option=list(poll.options),
            noMulti=not poll.multiple or None,
        )
        return await self._delivery(opening)

    async def typing(self, address: Address) -> None:
        """Show for fifteen seconds that an answer is being written."""
        await self._rpc.call("sendTyping", **_target(address))

    async def _on_own(self, method: str, address: Address, platform_id: str, key: str, **params: Any) -> Delivery:
        try:
            timestamp, _ = split_id(platform_id)
        except ValueError:
            return Delivery(DeliveryState.PERMANENT, error=f"{platform_id!r} is no message of Signal's")
        delivery = await self._delivery(self._call(method, address, **{key: timestamp}, **params))
        done = delivery.state is DeliveryState.DELIVERED
        return Delivery(DeliveryState.DELIVERED, (platform_id,)) if done else delivery

    async def _call(self, method: str, address: Address, **params: Any) -> int:
        """Return the time that names what was sent."""
        result = await self._rpc.call(method, **_target(address), **params)
        if failure := failure_of(result.get("results")):
            raise failure
        self._sent.append(result["timestamp"])
        return int(result["timestamp"])

    async def _delivery(self, request: Awaitable[int]) -> Delivery:
        try:
            timestamp = await request
        except SignalError as error:
            return Delivery(error.state, error=error.message, retry_after_s=error.retry_after_s)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            return Delivery(DeliveryState.UNKNOWN, error=f"signal-cli answered something else: {error!r}")
        return Delivery(DeliveryState.DELIVERED, (message_id(timestamp, min(self._me - {self._number}, default="")),))


def _target(address: Address) -> dict[str, Any]:
    if address.chat_type is ChatType.DIRECT:
        return {"recipient": [address.peer]}
    return {"groupId": address.peer}
