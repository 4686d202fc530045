"""A server of the Wyoming protocol that handles sentences: a line of JSON, then the data that it announces.

Source: https://github.com/OHF-Voice/wyoming
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hub import __version__
from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.host import IntegrationHost
from hub.integration.errors import NotReady
from hub.sessions.keys import SessionKey, SessionKind

_log = logging.getLogger(__name__)

CONNECTIONS_LIMIT = 20
EVENT_LIMIT_BYTES = 65_536
IDLE_LIMIT_S = 60.0
ANSWER_LIMIT_S = 60.0
"""Who spoke waits no longer; what the owner has to approve is not done then."""
TEXT_LIMIT_CHARS = 4_000
ID_LIMIT_CHARS = 100


class WyomingServer:
    """Answers those that may connect.

    Args:
        config: The section.
    """

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any]) -> None:
        self._host, self._config = host, config
        self._allowed = [ipaddress.ip_network(each) for each in config["allow"]]
        self._connections = 0

    async def start(self) -> asyncio.Server:
        """Listen, and return the server.

        Raises:
            NotReady: The port is taken.
        """
        address, port = self._config["listen"], self._config["port"]
        try:
            return await asyncio.start_server(self._take, address, port, limit=EVENT_LIMIT_BYTES)
        except OSError as error:
            raise NotReady(f"wyoming cannot listen on {address} port {port}: {error.strerror or error}") from error

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections >= CONNECTIONS_LIMIT or not self._may(writer.get_extra_info("peername")[0]):
            writer.close()
            return
        self._connections += 1
        self._host.spawn(self._guarded(reader, writer), name="wyoming connection")

    async def _guarded(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError, ValueError, RecursionError):
                await self._serve(reader, writer)
        finally:
            self._connections -= 1
            writer.close()

    def _may(self, peer: str) -> bool:
        address = ipaddress.ip_address(peer)
        address = getattr(address, "ipv4_mapped", None) or address
        may = address.is_loopback or any(address in each for each in self._allowed)
        if not may:
            _log.warning("%s may not connect to wyoming; add it to allow if it is your Home Assistant", address)
        return may

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (event := await _read(reader)) is not None:
            type, data = event
            match type:
                case "describe":
                    answer: tuple[str, Mapping[str, Any]] = ("info", self._info())
                case "ping":
                    answer = ("pong", {"text": data.get("text")})
                case "transcript":
                    answer = await self._handle(data)
                case _:
                    continue  # what is for other services
            writer.write(_event(*answer))
            await writer.drain()

    async def _handle(self, said: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        text, context = said.get("text"), said.get("context")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= TEXT_LIMIT_CHARS:
            return "not-handled", {"text": f"expected a text of at most {TEXT_LIMIT_CHARS} characters"}
        about = context if isinstance(context, dict) else {}
        agent = self._config.get("agent") or self._host.agents.default().id
        asked = {"agent": agent, "message": text, "silent": False}
        if conversation := str(about.get("conversation_id") or "")[:ID_LIMIT_CHARS]:
            asked["session"] = str(SessionKey(agent, SessionKind.HOOK, f"wyoming:{conversation}"))
        known = self._host.people.by_id(self._config.get("person") or "")
        by = Context(Authority("device:wyoming", known.id if known is not None else None, tainted=known is None))
        try:
            answer = await self._host.services.registry.call(
                "agent", "run", asked, context=by, wants_response=True, timeout_s=ANSWER_LIMIT_S
            )
        except HubError as error:
            _log.warning("a sentence was not handled: %s", error)
            return "not-handled", {"text": error.message, "context": about}
        return "handled", {"text": (answer or {}).get("reply", ""), "context": about}

    def _info(self) -> dict[str, Any]:
        about = {
            "name": str(self._host.config.or_default("hub")["name"]),
            "description": "Homarus",
            "attribution": {"name": "Homarus", "url": ""},
            "installed": True,
            "version": __version__,
        }
        handle = {**about, "models": [{**about, "languages": []}], "supports_home_control": True}
        return {**{each: [] for each in ("asr", "tts", "intent", "wake", "mic", "snd")}, "handle": [handle]}


async def _read(reader: asyncio.StreamReader) -> tuple[str, dict[str, Any]] | None:
    """Read an event, None at the end; what is beside its data, such as sound, is passed over.

    Raises:
        ValueError: It is not an event, or is too large.
        TimeoutError: None came for a minute.
    """
    async with asyncio.timeout(IDLE_LIMIT_S):
        line = await reader.readline()
        if not line:
            return None
        said = json.loads(line)
        if not isinstance(said, dict):
            raise ValueError("expected a JSON object as an event")
        data = said.get("data") or {}
        for key in ("data_length", "payload_length"):
            length = said.get(key) or 0
            if not isinstance(length, int) or not 0 <= length <= EVENT_LIMIT_BYTES:
                raise ValueError(f"{key}: expected at most {EVENT_LIMIT_BYTES}")
            read = await reader.readexactly(length)
            if key == "data_length" and read:
                data = json.loads(read)
        if not isinstance(data, dict):
            raise ValueError("data: expected a JSON object")
        return str(said.get("type")), data


def _event(type: str, data: Mapping[str, Any]) -> bytes:
    body = json.dumps(data, ensure_ascii=False).encode()
    return json.dumps({"type": type, "data_length": len(body)}).encode() + b"\n" + body
