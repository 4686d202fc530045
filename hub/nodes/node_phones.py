"""Nodes that show notifications, as phones of the home: at once while they are connected, else when they next are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.events import Unsubscribe
from hub.nodes.notification import Notification
from hub.nodes.phones import Phone, Phones
from hub.nodes.records import NodeRecord
from hub.nodes.registry import NodeRegistry
from hub.nodes.sensors import SOURCE, device_of
from hub.nodes.services import NOTIFY
from hub.nodes.shown import Shown

PAGE_CLIENT = "homarus-phone"
"""The page on a phone: it shows buttons and pictures, and removes what has a tag."""
NOW, LATER = 10, 90


class NodePhones:
    """Keeps the phones that are nodes.

    Args:
        phones: All phones.
        nodes: The nodes.
        person_of: Returns who let a node in.
    """

    def __init__(self, phones: Phones, nodes: NodeRegistry, person_of: Callable[[str], str | None]) -> None:
        self._phones, self._nodes, self._person_of = phones, nodes, person_of
        self._own: dict[str, tuple[str, Unsubscribe]] = {}
        for carrier in (_NodeCarrier("page", NOW, nodes), _NodeCarrier("when it connects", LATER, nodes)):
            phones.carry(carrier)

    def follow(self, record: NodeRecord) -> None:
        """Offer an approved node under its present name, if it shows notifications."""
        if record.id in self._own and self._own[record.id][0] == record.title:
            return
        self.forget(record.id)
        if NOTIFY in record.commands:
            person = self._person_of(record.id)
            phone = Phone(record.id, record.title, SOURCE, device_of(record), person, f"device:{record.id}")
            self._own[record.id] = record.title, self._phones.add(phone)

    def forget(self, node_id: str) -> None:
        """Take a node from the phones."""
        if node_id in self._own:
            self._own.pop(node_id)[1]()


class _NodeCarrier:
    """Shows notifications on nodes: now, or when they connect."""

    takes_commands = False

    def __init__(self, name: str, rank: int, nodes: NodeRegistry) -> None:
        self.name, self.rank, self._nodes = name, rank, nodes

    async def carry(self, phone: Phone, note: Notification, shown: Shown) -> bool:
        record = self._nodes.records.get(phone.id) if phone.source == SOURCE else None
        if record is None:
            return False
        is_page = record.about.get("clientId") == PAGE_CLIENT
        if note.clears and not is_page:
            return False
        params = {
            "title": note.title or "Homarus",
            "body": note.message,
            **(page_params(note, shown) if is_page else {}),
        }
        if self.rank == LATER:
            await self._nodes.queue(record.id, NOTIFY, params)
            return True
        if self._nodes.get(record.id) is None:
            return False
        await self._nodes.invoke(record.id, NOTIFY, params)
        return True


def page_params(note: Notification, shown: Shown) -> dict[str, Any]:
    """Return what the page on a phone is told of a notification beside its title and text."""
    if note.clears:
        return {"tag": note.tag, "clear": True}
    buttons = [
        {
            "title": each.title,
            "press": shown.path(f"press-{index}"),
            **({"uri": each.uri} if each.uri else {}),
            **({"replies": True, "placeholder": each.placeholder} if each.replies else {}),
        }
        for index, each in enumerate(note.buttons)
    ]
    told: Mapping[str, Any] = {
        "id": shown.id,
        "tag": note.tag,
        "group": note.group,
        "url": note.url,
        "buttons": buttons,
        "urgent": note.level >= 4,
        "sticky": note.sticky,
        **shown.media,
    }
    cleared = {"cleared": shown.path("cleared")} if note.tag or note.buttons else {}
    return {**{key: value for key, value in told.items() if value}, **cleared}
