"""`pairing.*` and `route.explain`: who may talk to the assistant in chat, and to which agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.config.store import ConfigStore, ReloadResult
from hub.core.context import Authority, Context
from hub.core.errors import Forbidden, InvalidRequest, NotFound
from hub.core.schema import All, In, Length, Optional, Required, Schema, as_list, boolean, ensure_list, string
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.messaging.access.pairing import SCOPE, Pairings
from hub.messaging.access.router import Router
from hub.messaging.channels import Attached, ChannelRegistry
from hub.messaging.contract import Address, ChatType, InboundMessage

OWNER = "gateway"

_TEXT = All(string, Length(min=1, max=512))
_LIST = Schema(
    {
        Optional("channel"): _TEXT,
        Optional(
            "all", default=False, description="Who is paired or denied too, and the lists of each account."
        ): boolean,
    }
)
_APPROVE = Schema(
    {
        Required("channel"): _TEXT,
        Required("code", description="As the stranger was shown it."): _TEXT,
        Optional("id", description="Of the request that the code must be of."): _TEXT,
        Optional("person", description="Id of the person of this home that it is; admin alone."): _TEXT,
    }
)
_DENY = Schema({Required("channel"): _TEXT, Required("code", description="The code, or the request's id."): _TEXT})
_REVOKE = Schema({Required("channel"): _TEXT, Required("identity"): _TEXT})
_EXPLAIN = Schema(
    {
        Required("channel"): _TEXT,
        Required("peer", description="The platform's id of the person or group."): _TEXT,
        Optional("account", default="default"): _TEXT,
        Optional("chatType", default="direct"): In([each.value for each in ChatType]),
        Optional("sender", description="Typed identity; for a direct conversation that of the peer without it."): _TEXT,
        Optional("thread"): _TEXT,
        Optional("topic", description="A thread that is a topic."): _TEXT,
        Optional("parent", description="Peer of the room that a thread hangs in."): _TEXT,
        Optional("space", description="Id of the guild or team."): _TEXT,
        Optional("roles", default=list): ensure_list(_TEXT),
    }
)


class MessageAccessMethods:
    """The methods about pairing and routing.

    Args:
        pairings: Pairing requests, and paired senders.
        router: Decides which agent answers.
        channels: The accounts, each with its configured access.
        config: Where the identities of people are written.
        reload: Reloads and applies the configuration.
    """

    def __init__(
        self,
        pairings: Pairings,
        router: Router,
        channels: ChannelRegistry,
        config: ConfigStore,
        reload: Callable[[], Awaitable[ReloadResult]],
    ) -> None:
        self._pairings = pairings
        self._router = router
        self._channels = channels
        self._config = config
        self._reload = reload

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("pairing.list", self._list, OWNER, _LIST, SCOPE),
            Method("pairing.approve", self._approve, OWNER, _APPROVE, SCOPE, acts=True),
            Method("pairing.deny", self._deny, OWNER, _DENY, SCOPE, acts=True),
            Method("pairing.revoke", self._revoke, OWNER, _REVOKE, SCOPE, acts=True),
            Method("route.explain", self._explain, OWNER, _EXPLAIN, READ),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        wanted, decided = call.params.get("channel"), call.params["all"]
        answer: dict[str, Any] = {
            "requests": [each.as_dict() for each in await self._pairings.entries(wanted, decided=decided)],
            "people": [{"id": each["id"], "name": each.get("name") or each["id"]} for each in self._stated_people()],
        }
        if decided:
            accounts = [each for each in self._channels.all() if wanted in (None, each.channel.name)]
            for person, stated in zip(answer["people"], self._stated_people(), strict=True):
                person["identities"] = [str(each) for each in as_list(stated.get("identities"))]
            answer["allowed"] = [_allowed(each) for each in accounts if not self._channels.is_home(each.channel.name)]
        return answer

    async def _approve(self, call: MethodCall) -> Mapping[str, Any]:
        params, person = call.params, call.params.get("person")
        if person is None:
            keys = None
        elif call.caller.authority.has(ADMIN):
            keys = self._identities(person)
        else:
            raise Forbidden("only an administrator may assign a person", details={"missingScope": ADMIN})
        entry = await self._pairings.approve(params["channel"], params["code"], call.context, params.get("id"))
        if keys is None:
            return entry.as_dict()
        stated = await asyncio.to_thread(self._config.editor.get_value, keys[:-1])
        identities = [str(each) for each in as_list(stated.get(keys[-1]))]
        await asyncio.to_thread(self._config.editor.set_value, keys, [*identities, entry.identity])
        await self._reload()
        return {**entry.as_dict(), "person": person}

    def _identities(self, person: str) -> tuple[str | int, ...]:
        """Return the configuration path of a person's identities.

        Raises:
            NotFound: The configuration has no such person.
        """
        people = self._stated_people()
        for index, each in enumerate(people):
            if each["id"] == person:
                return ("people", index, "identities")
        known = ", ".join(each["id"] for each in people) or "nobody; add `people: [{id: me, owner: true}]`"
        raise NotFound(f"there is no person {person!r:.80} in the configuration (people); known: {known}")

    def _stated_people(self) -> list[Mapping[str, Any]]:
        """Return the people as written in the configuration."""
        stated = self._config.current.raw.get("people")
        return [each for each in stated if isinstance(each, Mapping)] if isinstance(stated, list) else []

    async def _deny(self, call: MethodCall) -> Mapping[str, Any]:
        return (await self._pairings.deny(call.params["channel"], call.params["code"], call.context)).as_dict()

    async def _revoke(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._pairings.revoke(call.params["channel"], call.params["identity"], call.context)
        return {"revoked": [each.as_dict() for each in found]}

    async def _explain(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        channel, peer, chat_type = params["channel"], params["peer"], ChatType(params["chatType"])
        address = Address(
            channel,
            peer,
            params["account"],
            chat_type,
            thread=params.get("topic", params.get("thread")),
            topic="topic" in params,
            space=params.get("space"),
            parent=params.get("parent"),
        )
        sender = params.get("sender")
        if sender is None:
            sender = f"{channel}:user:{peer if chat_type is ChatType.DIRECT else 'somebody'}"
        if not sender.startswith(f"{channel}:"):
            raise InvalidRequest(f"sender: an identity on {channel} begins with '{channel}:', not {sender[:80]!r}")
        message = InboundMessage(address, "explained", sender, "", mentioned=True, roles=tuple(params["roles"]))
        return self._router.explain(message, Context(Authority(f"peer:{sender}")))


def _allowed(attached: Attached) -> dict[str, Any]:
    policy = attached.access
    return {
        "channel": attached.channel.name,
        "account": attached.channel.account,
        "dmPolicy": policy.dm.value,
        "allowFrom": sorted(policy.allow_from),
        "groupPolicy": policy.group.value,
        "groupAllowFrom": sorted(policy.group_allow_from),
        "groups": sorted(policy.groups),
    }
