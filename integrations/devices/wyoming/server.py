"""A server of the Wyoming protocol that handles sentences, and hears and speaks with what the hub has for that."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hub.host import IntegrationHost
from hub.integration.errors import NotReady
from integrations.devices.wyoming.connection import WyomingConnection
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES, read_event

_log = logging.getLogger(__name__)

CONNECTIONS_LIMIT = 20
IDLE_LIMIT_S = 60.0


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
        connection = WyomingConnection(self._host, self._config, writer)
        try:
            while (event := await read_event(reader, IDLE_LIMIT_S)) is not None:
                await connection.take(event)
        finally:
            connection.close()
