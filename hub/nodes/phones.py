"""The phones of the home as automations notify them: `notify.mobile_app_<name>`, and a notify entity for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Protocol

from msgspec import Struct

from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Optional, Schema
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.core.slugs import slugify
from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.entities import HomeEntities
from hub.nodes.notification import Notification, notification
from hub.nodes.services import NOTICE, NOTICE_FIELDS, SHOW
from hub.nodes.shown import Shown, ShownNotifications

PREFIX = "mobile_app_"


class Phone(Struct, frozen=True):
    """A phone, or a program that is notified like one.

    Attributes:
        id: Of the node or the registration.
        source: Whose device it is among the devices of the home.
        person: Whose it is; None if that is not known.
        principal: Whose rights the press of a button has.
        configured: Whether an owner's configuration names it; it then is the phone of that name, whoever's that is.
    """

    id: str
    name: str
    source: str
    device: DeviceInfo
    person: str | None
    principal: str
    configured: bool = False


class Carrier(Protocol):
    """A way to some phones.

    Attributes:
        name: For people and traces.
        rank: The ways to a phone are tried in this order.
        takes_commands: Whether it reaches a companion app, which carries out `command_…`.
    """

    name: str
    rank: int
    takes_commands: bool

    async def carry(self, phone: Phone, note: Notification, shown: Shown) -> bool:
        """Show a notification, or remove one; return False when this is no way to that phone.

        Raises:
            HubError: It is one, and did not work.
        """


class Phones:
    """The phones, and the ways to them.

    Args:
        services: Registers the services.
        entities: Registers the notify entities.
        shown: Remembers what is shown.
    """

    def __init__(self, services: ServiceRegistry, entities: HomeEntities, shown: ShownNotifications) -> None:
        self._services, self._entities, self.shown = services, entities, shown
        self._named: dict[str, list[Phone]] = {}
        self._registered: dict[str, tuple[Phone, tuple[Callable[[], Any], ...]]] = {}
        self._carriers: list[Carrier] = []

    def add(self, phone: Phone) -> Unsubscribe:
        """Offer a phone. One of the same name and person is the same phone, reached in another way.

        Returns:
            A function that removes it.
        """
        slug = slugify(phone.name)[:80] or "device"
        name = next(each for each in _numbered(slug) if self._may_have(each, phone))
        self._named.setdefault(name, []).append(phone)
        self._register(name)

        def remove() -> None:
            if phone in self._named.get(name, ()):
                self._named[name].remove(phone)
                self._register(name)

        return remove

    def carry(self, carrier: Carrier) -> Unsubscribe:
        """Add a way to phones; return a function that removes it."""
        self._carriers.append(carrier)
        self._carriers.sort(key=lambda each: each.rank)
        return lambda: self._carriers.remove(carrier)

    def of_people(self, people: Iterable[str | None]) -> list[list[Phone]]:
        """Return the phones of some people, each with all its ways."""
        wanted = set(people)
        return [named for named in self._named.values() if named[0].person in wanted]

    async def notify(self, phone: Sequence[Phone], note: Notification) -> dict[str, str]:
        """Show a notification on a phone, by the first way that works; remove one by all ways.

        Returns:
            The phone's name, and the way.

        Raises:
            HubError: No way works, or the phone cannot do what the message says.
        """
        failed: list[HubError] = []
        shown_by: list[str] = []
        shown = {each.id: await self._remember(each, note) for each in phone}
        for carrier in [each for each in self._carriers if each.takes_commands or not note.is_command]:
            for each in phone:
                if shown_by and not note.clears:
                    break
                try:
                    if await carrier.carry(each, note, shown[each.id]):
                        shown_by.append(carrier.name)
                except HubError as error:
                    failed.append(error)
        name = phone[0].name
        if shown_by:
            return {"shown_on": name, "way": ", ".join(shown_by)}
        if failed:
            raise failed[-1]
        if note.is_command:
            raise InvalidRequest(
                phrase(
                    "{message} is for Home Assistant's app: the page of {phone} only shows notifications",
                    message=note.message[:80],
                    phone=name,
                )
            )
        raise Unavailable(phrase("nothing can be shown on {phone} now", phone=name))

    async def _remember(self, phone: Phone, note: Notification) -> Shown:
        device = self._entities.registry.device_for(phone.source, phone.device)
        return await self.shown.keep(note, phone_id=phone.id, device_id=device.id, principal=phone.principal)

    def _may_have(self, name: str, phone: Phone) -> bool:
        named = self._named.get(name)
        return not named or phone.configured or named[0].configured or named[0].person == phone.person

    def _register(self, name: str) -> None:
        """Let the service and the entity of a name be those of its first phone."""
        named = self._named[name]
        first = named[0] if named else None
        known, undo = self._registered.get(name, (None, ()))
        if known == first:
            return
        for each in undo:
            each()
        if first is None:
            del self._registered[name], self._named[name]
            return

        async def to_phone(call: ServiceCall) -> Mapping[str, Any]:
            return await self.notify(self._named[name], _of_call(call.data))

        async def send_message(data: Mapping[str, Any]) -> None:
            await self.notify(self._named[name], _of_call(data))

        description = EntityDescription("notify", f"{first.id} notify", device=first.device)
        entity = self._entities.add(description, {"send_message": send_message}, source=first.source)
        schema = Schema({**NOTICE, Optional("target", description="Not used: a phone is its own target."): object})
        optional, service_name = ResponseMode.OPTIONAL, f"{PREFIX}{name}"
        service = self._services.register(
            "notify", service_name, to_phone, schema, optional, description=SHOW, fields=NOTICE_FIELDS
        )
        self._registered[name] = first, (service, entity.remove)

    async def notify_device(self, said: Mapping[str, Any]) -> None:
        """Show a notification on the phone that is a device, by `device_id`.

        Raises:
            HubError: There is no such phone, or nothing can be shown on it.
        """
        device = self._entities.registry.devices.get(said["device_id"])
        for named in self._named.values():
            for each in named:
                ids = device.identifiers if device is not None and device.source == each.source else ()
                if each.id in (said["device_id"], *ids):
                    await self.notify(named, _of_call(said))
                    return
        raise NotFound(phrase("there is no phone {phone}", phone=said["device_id"][:80]))


def _of_call(data: Mapping[str, Any]) -> Notification:
    return notification(data["message"], data.get("title"), data.get("data"))


def _numbered(slug: str) -> Iterator[str]:
    yield slug
    for number in count(2):
        yield f"{slug}_{number}"
