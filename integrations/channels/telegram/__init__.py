"""Telegram: bots that talk in direct messages, groups and topics.

The library, python-telegram-bot, is imported when a bot is logged in.

Not here: who may talk to them (`hub.messaging`), and the answers.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from integrations.channels.telegram.channel import Telegram

BODY_LIMIT_BYTES = 1_048_576
HEADER = "X-Telegram-Bot-Api-Secret-Token"


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Log in every bot."""
    await asyncio.to_thread(import_module, "telegram")  # which takes long, and would hold up the event loop

    from hub.core.phrases import phrase
    from hub.messaging.outbox.outbound_policy import outbound_policy
    from hub.messaging.schema import access_policy
    from hub.messaging.texts import say
    from integrations.channels.telegram.channel import Telegram, TelegramAccount, TelegramParts
    from integrations.channels.telegram.listener import TelegramWebhook

    def migrated(old: str, new: str) -> None:
        host.repairs.raise_(
            "telegram",
            f"migrated:{old}",
            phrase("A Telegram group has a new number"),
            phrase("It was {old} and is now {new}: change it wherever the configuration names it.", old=old, new=new),
        )

    for entry in config:
        webhook = TelegramWebhook(**entry["webhook"]) if "webhook" in entry else None
        groups = [name for name in entry["groups"] if name.lstrip("-").isdecimal()]
        account = TelegramAccount(entry["account"], entry["token"], entry["api_root"], webhook, groups)
        parts = TelegramParts(host.clock, lambda: say("thread.gone", host.language), migrated)
        channel = Telegram(account, parts)
        if webhook is not None:
            _add_route(host, channel, webhook.secret.reveal())
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))


def _add_route(host: IntegrationHost, channel: Telegram, secret: str) -> None:
    """Take what Telegram delivers; it is confirmed once it is on disk, and else delivered again."""
    from aiohttp import web

    from hub.core.errors import InvalidRequest, Unauthorized
    from hub.core.surfaces import HttpCall, Open, Route

    async def deliver(call: HttpCall) -> web.StreamResponse:
        given = call.request.headers.get(HEADER, "")
        if not hmac.compare_digest(given.encode(), secret.encode()):
            raise Unauthorized("the secret token is not the one given to Telegram")
        try:
            await channel.deliver(orjson.loads(call.body))
        except ValueError as error:
            raise InvalidRequest("expected an update of the Bot API") from error
        return web.Response()

    path = f"/telegram/{channel.account}"
    host.routes.add(Route("POST", path, deliver, "telegram", scope=Open.SELF, body_limit=BODY_LIMIT_BYTES))
