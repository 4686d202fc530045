"""The service `message.send`, and `notify.*` for people: words that go out as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.agent.agents import Agents
from hub.automation.services.addresses import Addresses, DeliveryTarget
from hub.automation.services.delivery import ResultDelivery
from hub.core.errors import HubError, InvalidRequest
from hub.core.events import EventBus, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Exclusive, Length, Optional, Schema, ensure_list, slug, string
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.core.slugs import object_id
from hub.messaging.places import chat_or_last
from hub.security.people import People
from hub.sessions.keys import SessionKey

if TYPE_CHECKING:
    from hub.nodes.phones import Phones

TEXT_LIMIT = 100_000

_TEXT = All(string, Length(min=1, max=TEXT_LIMIT))
_ID = All(string, Length(min=1, max=512))
_KEY = All(string, Length(min=1, max=2048))

SEND_SCHEMA = Schema(
    {
        Exclusive("text", "text", description="The message."): _TEXT,
        Exclusive("message", "text", description="Alias for text."): _TEXT,
        Optional("channel", description="The channel, such as telegram; last: where the owner last wrote."): _ID,
        Optional("to", description="The peer: a person's or a group's id on that channel; or telegram:123456."): _ID,
        Optional("account", default="default", description="The account of the channel."): _ID,
        Optional("thread", description="A thread or topic in it."): _ID,
        Optional("session_key", description="A session key, instead of an address."): _KEY,
        Optional("agent", description="The agent that `last` refers to; the default agent if omitted."): slug,
    }
)
NOTIFY_SCHEMA = Schema(
    {
        Exclusive("message", "text", description="The message."): _TEXT,
        Exclusive("text", "text", description="Alias for message."): _TEXT,
        Optional("title", description="Title."): All(string, Length(min=1, max=200)),
        Optional("target", description="Ids of people; the owner if omitted."): ensure_list(slug),
        Optional("data", default=dict, description="Buttons, picture, tag …: it is then for their phones."): dict,
    }
)


class Messages:
    """Handles `message.send` and `notify.*`.

    Args:
        people: The people of this home as configured now; each has `notify.<id>`.
        phones: Returns the phones: what has `data` is for phones, and is shown there if its person has one.
    """

    def __init__(
        self,
        addresses: Addresses,
        delivery: ResultDelivery,
        agents: Agents,
        people: Callable[[], People],
        phones: Callable[[], Phones],
    ) -> None:
        self._phones = phones
        self._addresses = addresses
        self._delivery = delivery
        self._agents = agents
        self._people = people
        self._services: ServiceRegistry | None = None
        self._personal: list[Unsubscribe] = []

    def register(self, services: ServiceRegistry, bus: EventBus) -> Unsubscribe:
        """Register the services; those of people follow the configuration. Returns what removes them."""
        self._services = services
        common: list[Unsubscribe] = [
            services.register(
                "message",
                "send",
                self._send,
                SEND_SCHEMA,
                ResponseMode.OPTIONAL,
                description="Send a message to a conversation",
                idempotent=True,
            ),
            *(
                services.register(
                    "notify",
                    name,
                    self._notify,
                    NOTIFY_SCHEMA,
                    ResponseMode.OPTIONAL,
                    description="Notify the owner or other people of this home",
                    idempotent=True,
                )
                for name in ("notify", "send")
            ),
            bus.listen("config_changed", lambda event: self.refresh()),
        ]
        self.refresh()

        def remove() -> None:
            for each in (*common, *self._personal):
                each()
            self._personal.clear()

        return remove

    def refresh(self) -> None:
        """Register a service for each person of this home."""
        for remove in self._personal:
            remove()
        services = self._services
        if services is None:
            return
        self._personal = [
            services.register(
                "notify",
                object_id(person.id),
                self._to_person(person.id),
                Schema({key: value for key, value in NOTIFY_SCHEMA.schema.items() if str(key) != "target"}),
                ResponseMode.OPTIONAL,
                description=phrase("Notify {name}", name=person.name),
                idempotent=True,
            )
            for person in self._people().all()
        ]

    async def _send(self, call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        place = await self._place(data)
        return await self._say(place, _text(data), call)

    async def _place(self, data: Mapping[str, Any]) -> DeliveryTarget:
        if "session_key" in data:
            if "channel" in data or "to" in data:
                raise InvalidRequest("give session_key, or channel and to, but not both")
            key = str(SessionKey.parse(data["session_key"], default_agent=self._agents.default().id))
            place = await self._addresses.of_session(key)
            if place is None:
                raise InvalidRequest(f"session_key: {key} is not a conversation with a recipient")
            return place
        chat = chat_or_last(data.get("channel"), data.get("to"))
        if chat is None:
            agent = self._agents.get(data["agent"]) if "agent" in data else self._agents.default()
            return await self._addresses.last(agent.id)
        return await self._addresses.at(*chat, data["account"], data.get("thread"))

    async def _notify(self, call: ServiceCall) -> Mapping[str, Any]:
        targets = call.data.get("target")
        owners = [None, *(each.id for each in self._people().owners())]
        if (shown := await self._on_phones(call, targets or owners)) is not None:
            return shown
        if not targets:
            return await self._say(await self._addresses.last(self._agents.default().id), _titled(call.data), call)
        places = [await self._addresses.of_person(person_id) for person_id in targets]
        sent = [await self._say(place, _titled(call.data), call, at=index) for index, place in enumerate(places)]
        return {"message_ids": [id for each in sent for id in each["message_ids"]]}

    def _to_person(self, person_id: str) -> Callable[[ServiceCall], Any]:
        async def notify(call: ServiceCall) -> Mapping[str, Any]:
            if (shown := await self._on_phones(call, [person_id])) is not None:
                return shown
            return await self._say(await self._addresses.of_person(person_id), _titled(call.data), call)

        return notify

    async def _on_phones(self, call: ServiceCall, people: Sequence[str | None]) -> Mapping[str, Any] | None:
        """Show on the phones of some people what only a phone can; None when it is for a conversation.

        Raises:
            HubError: None of their phones shows it.
        """
        if not call.data["data"]:
            return None
        from hub.nodes.notification import notification  # with the first that is for phones

        note = notification(_text(call.data), call.data.get("title"), call.data["data"])
        home, phones = self._phones(), self._phones().of_people(people)
        if not phones and (note.clears or note.is_command):
            raise InvalidRequest(
                phrase("{message} is for phones, and none is paired: open /p on one", message=note.message)
            )
        if not phones:
            return None
        ended = await asyncio.gather(*(home.notify(each, note) for each in phones), return_exceptions=True)
        shown = [each for each in ended if isinstance(each, dict)]
        for each in ended:
            if isinstance(each, BaseException) and (not shown or not isinstance(each, HubError)):
                raise each
        return {"phones": shown}

    async def _say(self, place: DeliveryTarget, text: str, call: ServiceCall, *, at: int = 0) -> Mapping[str, Any]:
        key = f"{call.idempotency_key}:{at}" if call.idempotency_key is not None else None
        ids = await self._delivery.send(place, text, call.context, key=key)
        address = place.address
        return {
            "message_ids": ids,
            "channel": address.channel,
            "to": address.peer,
            "account": address.account,
            "session_key": place.session_key,
        }


def _text(data: Mapping[str, Any]) -> str:
    text = data.get("text") or data.get("message")
    if not text:
        raise InvalidRequest("text: expected the text to send")
    return str(text)


def _titled(data: Mapping[str, Any]) -> str:
    title = data.get("title")
    return f"{title}\n\n{_text(data)}" if title else _text(data)
