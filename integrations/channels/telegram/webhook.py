"""The webhook that Telegram delivers to, where an account has one."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from hub.core.secret import Secret
from hub.core.surfaces import Route
from integrations.channels.telegram.channel import Telegram
from integrations.channels.webhook_delivery import delivery_route

HEADER = "x-telegram-bot-api-secret-token"


def webhook_route(channel: Telegram, secret: Secret) -> Route:
    """Return the route that takes what Telegram delivers; `secret` is what it repeats in each delivery."""

    def is_genuine(body: bytes, headers: Mapping[str, str]) -> bool:
        return hmac.compare_digest(headers.get(HEADER, "").encode(), secret.reveal().encode())

    return delivery_route(f"/telegram/{channel.account}", "telegram", is_genuine, channel.deliver)
