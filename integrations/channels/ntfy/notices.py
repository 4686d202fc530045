"""Notifications of automations on topics: for phones that nothing else reaches, or with the ntfy app alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from hub.core.errors import HubError, Unavailable
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.entities.description import DeviceInfo
from hub.nodes.phones import Phone
from integrations.channels.ntfy.api import NtfyApi
from integrations.channels.ntfy.channel import header_of
from integrations.channels.ntfy.events import OURS

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.nodes.notification import Notification
    from hub.nodes.shown import Shown
    from integrations.channels.ntfy.channel import NtfyAccount

ACTIONS_LIMIT = 3


class NtfyNotices:
    """Writes notifications to the topics of phones; see `Carrier`.

    Args:
        host: Knows the hub's address in the home's network.
        account: The server and the way in.
        phones: `phone` and `topic` of each.
    """

    name = "ntfy"
    rank = 30
    takes_commands = False

    def __init__(self, host: IntegrationHost, account: NtfyAccount, phones: Sequence[Mapping[str, Any]]) -> None:
        self._host, self._account = host, account
        self._topics = {slugify(each["phone"]): each["topic"].reveal() for each in phones}
        for each in phones:
            id = f"ntfy {slugify(each['phone'])}"
            device = DeviceInfo(frozenset({id}), name=each["phone"])
            host.nodes.add_phone(Phone(id, each["phone"], host.domain, device, None, id, configured=True))
        host.nodes.carry(self)

    async def carry(self, phone: Phone, note: Notification, shown: Shown) -> bool:
        """Write a notification to the topic of a phone."""
        topic = self._topics.get(slugify(phone.name)) if phone.source == self._host.domain else None
        if topic is None or note.clears:
            return False
        account = self._account
        api = NtfyApi(account.url, account.token, account.user, account.password)
        try:
            await api.publish(topic, note.message.encode(), self._headers(note, shown))
        except HubError as error:
            told = phrase("ntfy did not take it for {phone}: {error}", phone=phone.name, error=error.message)
            raise Unavailable(told) from error
        finally:
            await api.close()
        return True

    def _headers(self, note: Notification, shown: Shown) -> dict[str, str]:
        headers = {"Tags": OURS, "Priority": str(note.level)}
        if note.title:
            headers["Title"] = header_of(note.title)
        if note.url:
            headers["Click"] = header_of(self._url(note.url))
        if picture := shown.media.get("image") or shown.media.get("video"):
            headers["Attach"] = header_of(self._url(picture))
        actions: list[dict[str, Any]] = []
        for index, each in enumerate(note.buttons[:ACTIONS_LIMIT]):
            if each.uri:
                actions.append({"action": "view", "label": each.title, "url": self._url(each.uri)})
            elif not each.replies:
                press = self._url(shown.path(f"far-{index}"))
                actions.append({"action": "http", "label": each.title, "url": press, "method": "POST", "clear": True})
        if actions:
            headers["Actions"] = json.dumps(actions)
        return headers

    def _url(self, address: str) -> str:
        """Return an address that a phone in the home's network can open."""
        return urljoin(f"{self._host.lan_url}/", address)
