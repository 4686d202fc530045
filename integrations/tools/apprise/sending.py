"""Sends notifications through Apprise, in a thread: https://github.com/caronc/apprise."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.core.errors import InvalidRequest, TimedOut, Unavailable
from hub.core.executors import EGRESS
from hub.core.secret import Secret

LEVELS = ("info", "success", "warning", "failure")


class Notification(Struct, frozen=True):
    """A text to send, and the name of its destination."""

    target: str
    text: str
    title: str = ""
    level: str = "info"


class Notifier:
    """Sends to places by name.

    Args:
        targets: The Apprise URLs of each place; they hold keys, so no error shows them.
        timeout_s: For one notification.
    """

    def __init__(self, targets: Mapping[str, list[Secret]], timeout_s: float) -> None:
        self._targets = targets
        self._timeout_s = timeout_s

    async def send(self, notification: Notification) -> None:
        """Send a notification.

        Raises:
            InvalidRequest: Apprise does not know the URL of the place.
            Unavailable: The service refused it.
            TimedOut: It took too long; it may still arrive.
        """
        target = notification.target
        try:
            async with asyncio.timeout(self._timeout_s):
                sent = await EGRESS.run(_send, self._targets[target], notification)
        except TimeoutError as error:
            raise TimedOut(f"{target} did not accept the notification within {self._timeout_s:g} s") from error
        if sent is None:
            raise InvalidRequest(f"apprise: targets: {target} has a URL that Apprise does not know")
        if not sent:
            raise Unavailable(f"{target} did not accept the notification; check its URL in apprise: targets")


def _send(urls: list[Secret], notification: Notification) -> bool | None:
    """Send; None when a URL is not known."""
    import apprise

    places: Any = apprise.Apprise()
    if not all(places.add(each.reveal()) for each in urls):
        return None
    text, title, level = notification.text, notification.title, notification.level
    return bool(places.notify(body=text, title=title, notify_type=level, interpret_escapes=False))
