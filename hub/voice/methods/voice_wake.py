"""`voicewake.*`: the words that wake phones and computers, shared by all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.clock import Clock
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import READ, WRITE, Method, MethodCall
from hub.sessions.keys import SessionKey
from hub.voice.voice_wake import LENGTH_LIMIT, LIMIT, ROUTING, VoiceWake

OWNER = "gateway"
CHANGED, ROUTING_CHANGED = "voicewake.changed", "voicewake.routing.changed"

Announce = Callable[[str, Mapping[str, Any]], None]
"""Tells an event to all clients and nodes."""


class VoiceWakeMethods:
    """The methods.

    Args:
        words: The words and whom they call.
        agents: Those that may be called.
        announce: Tells of a change.
    """

    def __init__(self, words: VoiceWake, agents: Agents, clock: Clock, announce: Announce) -> None:
        self._words, self._agents, self._clock, self._announce = words, agents, clock, announce

    def methods(self) -> list[Method]:
        """Return the methods."""
        triggers = All([All(string, Length(max=LENGTH_LIMIT))], Length(max=LIMIT))
        return [
            Method("voicewake.get", self._get, OWNER, Schema({}), READ),
            Method("voicewake.set", self._set, OWNER, Schema({Required("triggers"): triggers}), WRITE),
            Method("voicewake.routing.get", self._routing, OWNER, Schema({}), READ),
            Method("voicewake.routing.set", self._set_routing, OWNER, Schema({Required("config"): ROUTING}), WRITE),
        ]

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        return {"triggers": await self._words.triggers()}

    async def _set(self, call: MethodCall) -> Mapping[str, Any]:
        found = {"triggers": await self._words.set_triggers(call.params["triggers"])}
        self._announce(CHANGED, found)
        return found

    async def _routing(self, call: MethodCall) -> Mapping[str, Any]:
        return {"config": await self._words.routing()}

    async def _set_routing(self, call: MethodCall) -> Mapping[str, Any]:
        config = {**call.params["config"], "updatedAtMs": int(self._clock.time() * 1000)}
        for target in (config["defaultTarget"], *(each["target"] for each in config["routes"])):
            if "agentId" in target:
                self._agents.get(target["agentId"])
            elif "sessionKey" in target:
                SessionKey.parse(target["sessionKey"], default_agent=self._agents.default().id)
        await self._words.set_routing(config)
        self._announce(ROUTING_CHANGED, {"config": config})
        return {"config": config}
