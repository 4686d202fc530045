"""Listens to Telegram: asks for updates, or sees to it that they are delivered to the webhook.

Everything below an offset is confirmed by asking with it, so the offset moves only past what the hub has on disk. No
position is kept over a restart: Telegram remembers what was not confirmed and offers it again; the inbox knows it. The
parts of an album are messages that the queue answers together.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from telegram import Update, User

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState, Inbound, Receiver
from integrations.channels.acknowledging import MALFORMED, offer, skip_if_malformed
from integrations.channels.http_api import PlatformError
from integrations.channels.telegram.api import TelegramApi
from integrations.channels.telegram.updates import UPDATE_KINDS, UpdateReader

Json = Mapping[str, Any]

_log = logging.getLogger(__name__)

UPDATES_LIMIT = 100
BACKOFF_FIRST_S, BACKOFF_LIMIT_S = 1.0, 60.0
CONFLICT_FIRST_S, CONFLICT_LIMIT_S = 15.0, 55.0
REFUSED_S = 300.0
"""After a refused token: somebody may have made it valid again."""
REFUSED, CONFLICT = (401, 403, 404), 409


class PollTiming(Struct, frozen=True):
    """The durations of polling.

    Attributes:
        poll_s: The longest that Telegram may wait for news.
        answer_s: The further time for an answer; a connection that died silently ends with it.
        check_s: Between two checks of a webhook.
    """

    poll_s: int = 50
    answer_s: float = 15.0
    check_s: float = 60.0


class TelegramWebhook(Struct, frozen=True):
    """The address that Telegram delivers to."""

    url: str
    secret: Secret


class Listener:
    """Keeps one bot connected for as long as it runs.

    Args:
        api: The API.
        reader: Returns the reader of the bot's updates, once it is known who that is.
        receive: The hub.
        stored: Called with each update that is on disk, and the notice for the person who pressed a button.
        webhook: The address that Telegram delivers to; without it, Telegram is polled.
    """

    def __init__(
        self,
        api: TelegramApi,
        reader: Callable[[User], Awaitable[UpdateReader]],
        receive: Receiver,
        *,
        stored: Callable[[Update, str | None], None],
        webhook: TelegramWebhook | None,
        clock: Clock,
        timing: PollTiming,
    ) -> None:
        self._api = api
        self._make_reader = reader
        self._receive = receive
        self._stored = stored
        self._webhook = webhook
        self._clock = clock
        self._timing = timing
        self._reader: UpdateReader | None = None
        self._offset = 0
        self._failures = 0

    async def run(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                await self._turn()
            except (HubError, *MALFORMED) as error:
                self._failures += 1
                self._offset = 0  # who knows what happens until the next answer; what comes twice is known
                text = f"the answer is not as expected: {error!r}"
                failure = error if isinstance(error, HubError) else self._api.error(DeliveryState.UNKNOWN, text)
                await self._clock.sleep(self._failed(failure))

    async def take(self, updates: Sequence[Json]) -> None:
        """Store updates, those of each chat in order; when this returns, all of them may be confirmed.

        Raises:
            Unavailable: The bot is not connected, or one was not stored; Telegram must offer it again.
        """
        if self._reader is None:
            raise Unavailable("the bot is not connected yet")
        chats: dict[object, list[Update]] = defaultdict(list)
        for given in updates:
            with skip_if_malformed(f"telegram: the update {given['update_id']}"):
                update = Update.de_json(dict(given))
                chat = update.effective_chat  # those of one must stay in order
                chats[chat and chat.id].append(update)
                await self._reader.follow(update)
        taking = (self._take_chat(each, self._reader) for each in chats.values())
        for error in await asyncio.gather(*taking, return_exceptions=True):
            if error is not None:
                raise Unavailable(str(error) or type(error).__name__) from error

    async def _take_chat(self, updates: Sequence[Update], reader: UpdateReader) -> None:
        for update in updates:
            found: list[Inbound] = []
            with skip_if_malformed(f"telegram: the update {update.update_id}"):
                found += reader.read(update)
            notice = None
            for inbound in found:
                receipt = await offer(self._receive, inbound)
                notice = receipt.notice if receipt is not None else None
            with skip_if_malformed(f"telegram: the update {update.update_id}"):
                self._stored(update, notice)

    async def _turn(self) -> None:
        if self._reader is None:
            self._reader = await self._connect()
            self._receive.connected()
        if self._webhook is None:
            updates = await self._ask()
            await self.take(updates)
            # Once nothing is left to confirm, an offset could only hide something: numbers may begin again, lower.
            self._offset = updates[-1]["update_id"] + 1 if updates else 0
        else:
            await self._check(self._webhook)
        if self._failures:
            self._failures = 0
            self._receive.connected()
        self._receive.progress()
        if self._webhook is not None:
            await self._clock.sleep(self._timing.check_s)

    async def _connect(self) -> UpdateReader:
        bot = self._api.bot
        me = await self._api.call(bot.get_me())
        if self._webhook is None:  # one of an earlier configuration would keep us from asking; nothing is dropped
            await self._api.call(bot.delete_webhook())
        self._receive.identified(str(me.id), me.name)
        return await self._make_reader(me)

    async def _ask(self) -> list[Json]:
        # After a failure the first question is a short one: its answer says that all is well again.
        wait_s = 0 if self._failures else self._timing.poll_s
        given = {"timeout": wait_s, "limit": UPDATES_LIMIT, "allowed_updates": UPDATE_KINDS}
        if self._offset:
            given["offset"] = self._offset
        # Its `get_updates` would refuse all of them for one that it cannot read, and log what people say. It advises
        # that method to who spells the name so; Telegram takes any spelling.
        request = self._api.bot.do_api_request("GetUpdates", given, read_timeout=self._timing.answer_s + wait_s)
        found = await self._api.call(request)
        return sorted(found, key=lambda update: int(update["update_id"]))

    async def _check(self, webhook: TelegramWebhook) -> None:
        """See to it that Telegram delivers here, and look whether it can."""
        bot = self._api.bot
        info = await self._api.call(bot.get_webhook_info())
        if info.url != webhook.url or self._failures:
            secret = webhook.secret.reveal()
            await self._api.call(bot.set_webhook(webhook.url, allowed_updates=UPDATE_KINDS, secret_token=secret))
        elif info.pending_update_count and (error := info.last_error_message):
            raise self._api.error(DeliveryState.UNKNOWN, f"it cannot deliver to {webhook.url}: {error}")

    def _failed(self, error: HubError) -> float:
        """Report the problem; return how long to wait."""
        text, status = error.message, error.status if isinstance(error, PlatformError) else 0
        if status in REFUSED:
            text = f"Telegram refuses the token ({text}); get a valid one from @BotFather (/token)"
        elif status == CONFLICT:
            text = f"something else is listening with the same token: {text}"
            self._reader = None  # it may be a webhook, which connecting ends
        self._receive.disconnected(text, permanent=status in REFUSED)
        _log.warning("%s", text)
        if status in REFUSED:
            return REFUSED_S
        if error.retry_after_s is not None:
            return error.retry_after_s
        # Jitter spreads retries; it guards nothing.
        spread = 1.0 - 0.3 * random.random()  # noqa: S311
        if status == CONFLICT:
            return min(CONFLICT_LIMIT_S, CONFLICT_FIRST_S + 10.0 * (self._failures - 1)) * spread
        return min(BACKOFF_LIMIT_S, BACKOFF_FIRST_S * 2.0 ** min(self._failures - 1, 10)) * spread
