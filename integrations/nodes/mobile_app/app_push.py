"""Notifications for a companion app: over its WebSocket, and through its maker's relay if an owner allows that.

Source: https://developers.home-assistant.io/docs/api/native-app-integration/notifications
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hub.core.errors import TimedOut, Unavailable
from hub.core.ids import new_id
from hub.core.phrases import phrase

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.nodes.notification import Notification
    from hub.nodes.phones import Phone
    from hub.nodes.shown import Shown
    from integrations.nodes.mobile_app.registration import MobileApp

CONFIRM_S = 10.0
"""How long an app has to confirm what it was sent; then another way is taken."""
RELAY_HOST = "mobile-apps.home-assistant.io"
"""Whoever registers names the address of the relay: only this one is called."""


class PushChannel:
    """The open channel of one app.

    Args:
        send: Sends an event to the app.
        confirms: Whether it confirms what it got.
    """

    def __init__(self, send: Callable[[Mapping[str, Any]], None], *, confirms: bool) -> None:
        self.send, self.confirms = send, confirms
        self.waiting: dict[str, asyncio.Future[None]] = {}

    def confirm(self, confirm_id: str) -> bool:
        """Take a confirmation; return whether it was waited for."""
        waiting = self.waiting.pop(confirm_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        return waiting is not None

    def close(self) -> None:
        """End what waits: the app is gone."""
        for each in self.waiting.values():
            each.cancel()
        self.waiting.clear()


class AppPush:
    """Sends to the apps whose channel is open.

    Args:
        host: Has the clock.
    """

    name = "app"
    rank = 15
    takes_commands = True

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self.channels: dict[str, PushChannel] = {}

    def open(self, app_id: str, channel: PushChannel) -> Callable[[], None]:
        """Use a channel from now on, in place of an earlier one; return a function that ends it."""
        if (before := self.channels.get(app_id)) is not None:
            before.close()
        self.channels[app_id] = channel

        def end() -> None:
            channel.close()
            if self.channels.get(app_id) is channel:
                del self.channels[app_id]

        return end

    async def carry(self, phone: Phone, note: Notification, shown: Shown) -> bool:
        """Send to an app; see `Carrier`."""
        if phone.source != self._host.domain:
            return False
        channel = self.channels.get(phone.id)
        if channel is None:
            raise Unavailable(phrase("the app on {phone} is not connected", phone=phone.name))
        said = wire(note, shown)
        if not channel.confirms:
            channel.send(said)
            return True
        confirm_id = new_id().lower()
        waiting = channel.waiting[confirm_id] = asyncio.get_running_loop().create_future()
        channel.send({**said, "hass_confirm_id": confirm_id})
        limit = self._host.spawn(self._host.clock.sleep(CONFIRM_S), name="wait for an app")
        await asyncio.wait({waiting, limit}, return_when=asyncio.FIRST_COMPLETED)
        limit.cancel()
        channel.waiting.pop(confirm_id, None)
        if waiting.done() and not waiting.cancelled():
            return True
        waiting.cancel()
        if self.channels.get(phone.id) is channel:
            del self.channels[phone.id]
        raise TimedOut(phrase("the app on {phone} did not confirm it", phone=phone.name))


class Relay:
    """Sends through the push service of the app's maker, as an owner allowed with `mobile_app: relay: true`.

    Args:
        host: Has the way out of the house.
        find: Returns a registration.
    """

    name = "relay"
    rank = 25
    takes_commands = True

    def __init__(self, host: IntegrationHost, find: Callable[[str], MobileApp | None]) -> None:
        self._host, self._find = host, find

    async def carry(self, phone: Phone, note: Notification, shown: Shown) -> bool:
        """Send to an app; see `Carrier`."""
        app = self._find(phone.id) if phone.source == self._host.domain else None
        data = (app.said.get("app_data") or {}) if app is not None else {}
        url, token = str(data.get("push_url", "")), data.get("push_token")
        place = urlsplit(url)
        if app is None or not token or (place.scheme, place.hostname) != ("https", RELAY_HOST):
            return False
        told = {key: app.said[key] for key in ("app_id", "app_version", "os_version") if app.said.get(key)}
        body = {**wire(note, shown), "push_token": token, "registration_info": {**told, "webhook_id": app.webhook_id}}
        answer = await self._host.egress.fetch(
            url,
            method="POST",
            headers={"Content-Type": "application/json"},
            body=json.dumps(body, default=str).encode(),
            redirect_limit=0,
        )
        if answer.status not in (200, 201, 202):
            raise Unavailable(phrase("the relay of the app answers {status}", status=answer.status))
        return True


def wire(note: Notification, shown: Shown) -> dict[str, Any]:
    """Return a notification as the apps take it, with the addresses of its pictures for that phone."""
    data = dict(note.said)
    for kind, address in shown.media.items():
        if kind in data:
            data[kind] = address
        elif isinstance(data.get("attachment"), Mapping):
            data["attachment"] = {**data["attachment"], "url": address}
    title = {"title": note.title} if note.title else {}
    return {"message": note.message, **title, **({"data": data} if data else {})}
