"""`channels.status|kinds|probe|add|credentials|login|link|remove`: the accounts of chat platforms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import asdict

from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.messaging.channel_accounts import ChannelAccounts
from hub.messaging.notices.owner_place import OwnerPlaces
from hub.messaging.places import DEFAULT_ACCOUNT

OWNER = "gateway"
_NAME = All(string, Length(min=1, max=128))
_STATUS = Schema({Optional("probe", default=False): boolean, Optional("channel"): _NAME, Optional("timeoutMs"): int})
_ONE = Schema({Required("channel"): _NAME, Optional("account", default=DEFAULT_ACCOUNT): _NAME})
_SECRET = All(string, Length(min=1, max=16_384))
_LOGIN = Schema(
    {
        Required("channel"): _NAME,
        Optional("account", default=DEFAULT_ACCOUNT): _NAME,
        Required("credentials"): Schema({_NAME: _SECRET}),
    }
)
_LINK = Schema(
    {
        Required("channel"): _NAME,
        Optional("account", default=DEFAULT_ACCOUNT): _NAME,
        Optional("begin", default=True): boolean,
        Optional("number"): All(string, Length(min=5, max=32)),
        Optional("pasted"): All(string, Length(min=1, max=8_192)),
    }
)
_ADD = Schema({Required("channel"): _NAME, Required("account"): dict})


class ChannelMethods:
    """The methods about channels.

    Args:
        accounts: Lists and changes the accounts.
        owners: Finds where an owner is reached.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, accounts: ChannelAccounts, owners: OwnerPlaces, wall_time: Callable[[], float]) -> None:
        self._accounts = accounts
        self._owners = owners
        self._wall_time = wall_time

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("channels.status", self._status, OWNER, _STATUS, READ),
            Method("channels.kinds", self._kinds, OWNER, Schema({}), READ),
            Method("channels.probe", self._probe, OWNER, _ONE, READ),
            Method("channels.add", self._add, OWNER, _ADD, ADMIN, acts=True),
            Method("channels.credentials", self._credentials, OWNER, _ONE, READ),
            Method("channels.login", self._login, OWNER, _LOGIN, ADMIN, acts=True),
            Method("channels.link", self._link, OWNER, _LINK, ADMIN, acts=True),
            Method("channels.remove", self._remove, OWNER, _ONE, ADMIN, acts=True),
        ]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        wanted = call.params.get("channel")
        found = [each for each in self._accounts.all() if wanted in (None, each["channel"])]
        probes: list[Any] = [None] * len(found)
        if call.params["probe"]:
            probes = await asyncio.gather(*(self._tried(each) for each in found))
        accounts: dict[str, list[dict[str, Any]]] = {}
        for each, probe in zip(found, probes, strict=True):
            accounts.setdefault(each["channel"], []).append(_account(each, probe))
        return {
            "ts": int(self._wall_time() * 1000),
            "channelOrder": list(accounts),
            "channelLabels": {each["channel"]: each["name"] for each in found},
            "channelDetailLabels": {each["channel"]: each["name"] for each in found},
            "channelSystemImages": {},
            "channelMeta": [
                {"id": channel, "label": of[0]["label"], "detailLabel": of[0]["label"]}
                for channel, of in accounts.items()
            ],
            "channels": {channel: {"configured": True, **of[0]} for channel, of in accounts.items()},
            "channelAccounts": accounts,
            "channelDefaultAccountId": {channel: of[0]["accountId"] for channel, of in accounts.items()},
            "statusIssues": [],
            **({"ownerPlace": await self._owner_place()} if call.params["probe"] else {}),
        }

    async def _owner_place(self) -> dict[str, str] | None:
        """Return where reminders and approvals reach an owner."""
        place = await self._owners.find()
        if place is None:
            return None
        return {"channel": place.address.channel, "accountId": place.address.account, "to": place.address.peer}

    async def _tried(self, account: Mapping[str, Any]) -> Any:
        if account["state"] == "failed":
            return {"ok": False, "error": account["error"]}
        return await self._accounts.probe(account["channel"], account["account"])

    async def _kinds(self, call: MethodCall) -> Mapping[str, Any]:
        return {"channels": await asyncio.to_thread(self._accounts.kinds)}

    async def _probe(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._accounts.probe(call.params["channel"], call.params["account"])

    async def _add(self, call: MethodCall) -> Mapping[str, Any]:
        added = await self._accounts.add(call.params["channel"], call.params["account"])
        return {"ok": True, "account": _account(added, None)}

    async def _credentials(self, call: MethodCall) -> Mapping[str, Any]:
        return {"fields": self._accounts.credentials(call.params["channel"], call.params["account"])}

    async def _login(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        found = await self._accounts.login(params["channel"], params["account"], params["credentials"])
        return {"ok": True, "account": _account(found, None)}

    async def _link(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        step = await self._accounts.link(
            params["channel"],
            params["account"],
            begin=params["begin"],
            number=params.get("number"),
            pasted=params.get("pasted"),
        )
        return asdict(step)

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        await self._accounts.remove(call.params["channel"], call.params["account"])
        return {"ok": True}


def _account(each: Mapping[str, Any], probe: Any) -> dict[str, Any]:
    """Return an account in OpenClaw's wire shape, with our additional fields."""
    connected = each["state"] == "connected"
    return {
        "accountId": each["account"],
        **({"name": each["account_name"]} if each.get("account_name") else {}),
        "label": each["name"],
        "enabled": True,
        "configured": True,
        "linked": each.get("account_id") is not None,
        "linkable": bool(each.get("linkable")),
        "signsIn": bool(each.get("signs_in")),
        "running": each["state"] != "failed",
        "connected": connected,
        "state": each["state"],
        "platformAccountId": each.get("account_id"),
        "lastConnectedAt": _ms(each.get("connected_at")),
        "lastEventAt": _ms(each.get("last_progress_at")),
        "lastInboundAt": _ms(each.get("last_received_at")),
        "lastError": each.get("error"),
        "capabilities": each["capabilities"],
        **({"pageUrl": each["page_url"]} if each.get("page_url") else {}),
        **({"probe": probe} if probe is not None else {}),
    }


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)
