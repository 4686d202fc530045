"""The words that wake phones and computers which hear them by themselves, and whom each of them calls.

Kept for the clients of OpenClaw's protocol (`voicewake.*`). What satellites listen for is their own setting.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.core.schema import All, AnyOf, In, Length, Optional, Required, Schema, SchemaError, string
from hub.integration.json_storage import JsonStorage
from hub.storage.files import FILES, Documents

FILE = "voicewake.json"
"""Where they are kept, below `.storage`."""
DEFAULT_TRIGGERS = ("homarus", "computer")
LIMIT = 32
LENGTH_LIMIT = 64
CURRENT: Mapping[str, Any] = {"mode": "current"}
_EDGES = re.compile(r"^\W+|\W+$")

_KEY = All(string, Length(min=1, max=2_048))


def _one(target: dict[str, str]) -> dict[str, str]:
    if len(target) != 1:
        raise SchemaError("expected one of mode, agentId and sessionKey")
    return target


_TARGET = All(
    {
        Optional("mode"): In(("current",)),
        Optional("agentId"): All(string, Length(min=1, max=64)),
        Optional("sessionKey"): _KEY,
    },
    _one,
)


def folded(words: str) -> str:
    """Return wake words as they are compared: in lower case, without the punctuation around each word."""
    return " ".join(filter(None, (_EDGES.sub("", each) for each in words.lower().split())))


def _each_once(config: dict[str, Any]) -> dict[str, Any]:
    seen: set[str] = set()
    for at, route in enumerate(config["routes"]):
        trigger = folded(route["trigger"])
        if not trigger or trigger in seen:
            raise SchemaError("expected words that no other route has", path=["routes", at, "trigger"])
        seen.add(trigger)
    return config


ROUTING = Schema(
    All(
        {
            Optional("version", default=1): In((1,)),
            Optional("defaultTarget", default=lambda: dict(CURRENT)): _TARGET,
            Optional("routes", default=list): All(
                [
                    Schema(
                        {Required("trigger"): All(string, Length(min=1, max=LENGTH_LIMIT)), Required("target"): _TARGET}
                    )
                ],
                Length(max=LIMIT),
            ),
            Optional("updatedAtMs"): AnyOf(int, float),
        },
        _each_once,
    )
)
"""Whom which words call: an agent's main conversation, another conversation, or the one that is open (`current`)."""


class VoiceWake:
    """The words and their targets, kept in a file.

    Args:
        path: The file; every object reads it for itself.
        documents: Where the home keeps it.
    """

    def __init__(self, path: Path, documents: Documents = FILES) -> None:
        self._storage = JsonStorage(path, documents)
        self._changing = asyncio.Lock()

    async def triggers(self) -> list[str]:
        """Return the words.

        Raises:
            HubError: The file is damaged.
        """
        return list((await self._storage.load({})).get("triggers") or DEFAULT_TRIGGERS)

    async def set_triggers(self, triggers: list[str]) -> list[str]:
        """Keep other words, without the empty ones; none are the usual ones again. Return what counts now.

        Raises:
            HubError: They cannot be kept.
        """
        await self._keep(triggers=[each.strip() for each in triggers if each.strip()])
        return await self.triggers()

    async def routing(self) -> Mapping[str, Any]:
        """Return whom they call, as `ROUTING` has it.

        Raises:
            HubError: The file is damaged.
        """
        found: Mapping[str, Any] = (await self._storage.load({})).get("routing") or ROUTING({})
        return found

    async def set_routing(self, routing: Mapping[str, Any]) -> None:
        """Keep whom they call.

        Raises:
            HubError: It cannot be kept.
        """
        await self._keep(routing=dict(routing))

    async def target(self, trigger: str) -> Mapping[str, Any]:
        """Return whom some words call.

        Raises:
            HubError: The file is damaged.
        """
        routing, said = await self.routing(), folded(trigger)
        targets = (each["target"] for each in routing["routes"] if folded(each["trigger"]) == said)
        found: Mapping[str, Any] = next(targets, routing["defaultTarget"])
        return found

    async def _keep(self, **changed: Any) -> None:
        async with self._changing:
            await self._storage.save({**await self._storage.load({}), **changed})
