"""Automations of a besieged hub: written as the owner writes them, followed to their ends."""

from __future__ import annotations

import asyncio
from textwrap import dedent
from typing import Any

from hub.automation.contract import NotRun
from hub.core.schema import Schema
from hub.core.services import ResponseMode, ServiceCall
from tests.security_review.besieged import WAIT_LIMIT_S, Besieged


async def add(house: Besieged, text: str) -> str:
    """Write an automation; return its id once it is in force."""
    saved = await house.rpc("automation.save", {"yaml": dedent(text)})
    assert "id" in saved, saved
    return str(saved["id"])


async def add_scripts(house: Besieged, text: str) -> None:
    """Write the scripts of the home."""
    main = house.hub.home.path / "configuration.yaml"
    main.write_text(f"{main.read_text()}script:\n{text}")
    reloaded = await house.rpc("service.call", {"service": "hub.reload"})
    assert "error" not in reloaded, reloaded


async def ended(house: Besieged, id: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait for so many runs of an automation to end; return their traces, the newest first."""
    async with asyncio.timeout(WAIT_LIMIT_S):
        while True:
            answer = await house.rpc("automation.trace", {"id": id})
            assert "traces" in answer, answer
            found = answer["traces"]
            if len([trace for trace in found if trace["finished"]]) >= count:
                return list(found)
            await asyncio.sleep(0.02)


async def not_run(house: Besieged, reason: NotRun) -> dict[str, Any]:
    """Wait until some automation was set off and did not run for this reason; return the report."""
    async with asyncio.timeout(WAIT_LIMIT_S):
        while True:
            for entry in (await house.rpc("automation.not_run", {"limit": 500}))["entries"]:
                if entry["reason"] == reason.value:
                    return dict(entry)
            await asyncio.sleep(0.02)


async def webhook(house: Besieged, id: str, data: Any) -> int:
    """Call a webhook as a program of this machine does; return the status."""
    async with house.http.post(f"{house.url}/api/webhook/{id}", json=data) as response:
        return response.status


class Seen:
    """A service `test.see` that keeps under what authority and with what data it was called."""

    def __init__(self, house: Besieged) -> None:
        self.calls: list[ServiceCall] = []
        house.hub.services.register("test", "see", self._see, Schema({}, extra=True), ResponseMode.OPTIONAL)

    @property
    def tainted(self) -> list[bool]:
        return [call.context.authority.tainted for call in self.calls]

    async def _see(self, call: ServiceCall) -> None:
        self.calls.append(call)
