"""Listens to Telegram: asks for updates, or sees to it that they are delivered to the webhook.

Everything below an offset is confirmed by asking with it, so the offset moves only behind what the hub has on disk. No
position is kept over a restart: Telegram remembers what was not confirmed, and offers it again; the inbox knows it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Receiver
from integrations.channels.telegram.errors import describe, retry_after_s
from integrations.channels.telegram.intake import Intake, NotTaken, is_album
from integrations.channels.telegram.updates import UPDATE_KINDS, Json

if TYPE_CHECKING:
    from telegram import Bot
    from telegram.request import BaseRequest

_log = logging.getLogger(__name__)

UPDATES_LIMIT = 100
BACKOFF_FIRST_S, BACKOFF_LIMIT_S = 1.0, 60.0
CONFLICT_FIRST_S, CONFLICT_LIMIT_S = 15.0, 55.0
REFUSED_S = 300.0
"""After a refused token: somebody may have made it valid again."""


class PollTiming(Struct, frozen=True):
    """How long things take.

    Attributes:
        poll_s: What Telegram may wait for news.
        answer_s: What an answer may take besides; a connection that is dead without saying so ends with it.
        album_s: What the parts of an album are waited for.
        check_s: Between two looks at a webhook.
    """

    poll_s: int = 50
    answer_s: float = 15.0
    album_s: float = 0.8
    check_s: float = 60.0


class TelegramWebhook(Struct, frozen=True):
    """Where Telegram delivers."""

    url: str
    secret: Secret


class Listener:
    """Keeps one bot connected for as long as it runs.

    Args:
        bot, polling: The API, and the connection that is used for asking alone.
        connect: Finds out who the bot is, says so to the hub and returns what takes updates.
        receive: The hub.
        webhook: Where Telegram delivers; without it, it is asked.
    """

    def __init__(
        self,
        bot: Bot,
        polling: BaseRequest,
        connect: Callable[[], Awaitable[Intake]],
        receive: Receiver,
        *,
        webhook: TelegramWebhook | None,
        clock: Clock,
        timing: PollTiming,
    ) -> None:
        self._bot = bot
        self._polling = polling
        self._connect = connect
        self._receive = receive
        self._webhook = webhook
        self._clock = clock
        self._timing = timing
        self._intake: Intake | None = None
        self._offset = 0
        self._failures = 0

    async def run(self) -> None:
        """Listen until cancelled."""
        from telegram.error import TelegramError

        while True:
            try:
                await self._turn()
            except (TelegramError, TimeoutError, NotTaken) as error:
                self._failures += 1
                if not isinstance(error, NotTaken):
                    self._offset = 0  # who knows what happens until the next answer; what comes twice is known
                await self._clock.sleep(await self._failed(error))

    async def _turn(self) -> None:
        if self._intake is None:
            async with asyncio.timeout(self._timing.answer_s):
                self._intake = await self._connect()
        if self._webhook is None:
            await self._poll(self._intake)
        else:
            await self._check(self._webhook)
        if self._failures:
            self._failures = 0
            self._receive.connected()
        self._receive.progress()
        if self._webhook is not None:
            await self._clock.sleep(self._timing.check_s)

    async def _poll(self, intake: Intake) -> None:
        # After a failure the first question is a short one: its answer says that all is well again.
        updates = await self._ask(0 if self._failures else self._timing.poll_s)
        first = next((n for n, update in enumerate(updates) if is_album(update)), None)
        if first is not None:
            await self._take(intake, updates[:first])
            self._offset = updates[first]["update_id"]
            await self._clock.sleep(self._timing.album_s)
            # The other parts come with the first one, which is not confirmed yet.
            updates = await self._ask(self._timing.poll_s)
        await self._take(intake, updates)
        # Once nothing is left to confirm, an offset could only hide something: numbers may begin anew, lower.
        self._offset = updates[-1]["update_id"] + 1 if updates else 0

    async def _ask(self, wait_s: int) -> list[Json]:
        from telegram.error import TelegramError

        asked: dict[str, Any] = {"timeout": wait_s, "limit": UPDATES_LIMIT, "allowed_updates": json.dumps(UPDATE_KINDS)}
        if self._offset:
            asked["offset"] = self._offset
        limit_s = wait_s + self._timing.answer_s
        url = f"{self._bot.base_url}/getUpdates?{urlencode(asked)}"
        try:
            async with asyncio.timeout(limit_s):
                found: Any = await self._polling.post(url, read_timeout=limit_s)
            return sorted(found, key=lambda update: int(update["update_id"]))
        except (KeyError, TypeError, ValueError) as error:
            raise TelegramError("the answer is not a list of updates") from error

    async def _take(self, intake: Intake, updates: list[Json]) -> None:
        try:
            await intake.take(updates)
        except NotTaken as error:
            self._offset = error.update_id
            raise

    async def _check(self, webhook: TelegramWebhook) -> None:
        """See to it that Telegram delivers here, and look whether it can."""
        from telegram.error import TelegramError

        async with asyncio.timeout(self._timing.answer_s):
            info = await self._bot.get_webhook_info()
            if info.url != webhook.url or self._failures:
                await self._bot.set_webhook(
                    webhook.url, secret_token=webhook.secret.reveal(), allowed_updates=list(UPDATE_KINDS)
                )
        if info.url == webhook.url and info.pending_update_count and info.last_error_message:
            raise TelegramError(f"Telegram cannot deliver to {webhook.url}: {info.last_error_message}")

    async def _failed(self, error: Exception) -> float:
        """Say what is wrong; return for how long to wait."""
        from telegram import error as errors

        cause = error.__cause__ if isinstance(error, NotTaken) and isinstance(error.__cause__, Exception) else error
        text = describe(cause)
        permanent = isinstance(error, (errors.InvalidToken, errors.Forbidden))
        if permanent:
            text = f"Telegram refuses the token ({text}); get a valid one from @BotFather (/token)"
        elif isinstance(error, errors.Conflict):
            if "webhook" in text and self._webhook is None:
                return await self._end_webhook()
            text = f"something else is listening with the same token: {text}"
        self._receive.disconnected(text, permanent=permanent)
        _log.warning("telegram: %s", text)
        if permanent:
            return REFUSED_S
        if isinstance(error, errors.RetryAfter):
            return retry_after_s(error)
        # Jitter spreads retries; it guards nothing.
        spread = 1.0 - 0.3 * random.random()  # noqa: S311
        if isinstance(error, errors.Conflict):
            return min(CONFLICT_LIMIT_S, CONFLICT_FIRST_S + 10.0 * (self._failures - 1)) * spread
        return min(BACKOFF_LIMIT_S, BACKOFF_FIRST_S * 2.0 ** min(self._failures - 1, 10)) * spread

    async def _end_webhook(self) -> float:
        """Take back the webhook of an earlier configuration, which keeps us from asking; nothing is dropped."""
        from telegram.error import TelegramError

        try:
            async with asyncio.timeout(self._timing.answer_s):
                await self._bot.delete_webhook(drop_pending_updates=False)
        except (TelegramError, TimeoutError) as error:
            self._receive.disconnected(describe(error))
            return BACKOFF_LIMIT_S
        return 0.0
