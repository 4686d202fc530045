"""Telegram: bots that talk in direct messages, groups and topics.

The library, python-telegram-bot, is imported when a bot is logged in.

Not here: who may talk to them (`hub.messaging`), and the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Log in every bot."""
    await asyncio.to_thread(import_module, "telegram")  # which takes long, and would hold up the event loop

    from hub.messaging.outbox.outbound_policy import outbound_policy
    from hub.messaging.schema import access_policy
    from hub.messaging.texts import say
    from integrations.channels.telegram.channel import Telegram, TelegramAccount, TelegramParts
    from integrations.channels.telegram.listener import TelegramWebhook
    from integrations.channels.telegram.webhook import webhook_route

    for entry in config:
        webhook = TelegramWebhook(**entry["webhook"]) if "webhook" in entry else None
        groups = [name for name in entry["groups"] if name.lstrip("-").isdecimal()]
        account = TelegramAccount(entry["account"], entry["token"], entry["api_root"], webhook, groups)
        parts = TelegramParts(host.clock, lambda: say("thread.gone", host.language))
        channel = Telegram(account, parts)
        if webhook is not None:
            host.routes.add(webhook_route(channel, webhook.secret))
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
