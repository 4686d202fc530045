"""A home with custom integrations that tests write, and a manager over them."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from hub.config.check import Checked, check
from hub.config.hub_section import SECTIONS
from hub.config.sections import Sections
from hub.core.clock import ManualClock
from hub.core.events import Event, EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.integration.catalog import CUSTOM_FOLDER, find
from hub.integration.installing import Installer
from hub.integration.manager import EVENT_INTEGRATION_CHANGED, IntegrationManager
from hub.integration.registrations import Registrations
from hub.integration.schemas import IntegrationSchemas

PLAIN = """
async def setup(host, config):
    host.log.append(("setup", "{domain}", config))

async def unload(host):
    host.log.append(("unload", "{domain}"))
"""


class HubLike:
    """What integrations of these tests share, and what each has registered."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.registrations: dict[str, Registrations] = {}
        self.ready: dict[str, bool] = {}
        self.gates: dict[str, asyncio.Event] = {}


class Kit:
    """A home, a manager, and what they told."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.hub = HubLike()
        self.clock = ManualClock()
        self.tasks = TaskOwner("test")
        self.bus = EventBus(self.tasks)
        self.repairs = Repairs(self.bus)
        self.events: list[Event] = []
        self.bus.listen(EVENT_INTEGRATION_CHANGED, self.events.append)
        self.installer = Installer(())
        self.manager: IntegrationManager = self.make()

    def add(self, domain: str, code: str = PLAIN, schema: str | None = None, **manifest: Any) -> None:
        """Write a custom integration; a keyword `text` is the manifest as it is."""
        folder = self.home / CUSTOM_FOLDER / domain
        folder.mkdir(parents=True, exist_ok=True)
        text = manifest.pop("text", None) or json.dumps({"domain": domain, "name": domain.title(), **manifest})
        (folder / "manifest.json").write_text(text)
        (folder / "__init__.py").write_text(code.replace("{domain}", domain))
        if schema is not None:
            (folder / "schema.py").write_text(schema)
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)

    def make(self) -> IntegrationManager:
        catalog = {domain: found for domain, found in find(self.home).items() if found.custom}
        self.schemas = IntegrationSchemas(catalog)
        self.manager = IntegrationManager(
            self._host,
            catalog,
            self.repairs,
            self.bus,
            self.clock,
            tasks=self.tasks,
            installer=self.installer,
            schemas=self.schemas,
        )
        return self.manager

    def _host(self, domain: str, registrations: Registrations) -> HubLike:
        self.hub.registrations[domain] = registrations
        return self.hub

    def check(self, text: str) -> Checked:
        (self.home / "configuration.yaml").write_text(text)
        return check(self.home, Sections(SECTIONS, self.schemas), environment={})

    async def start(self, text: str, needed: Iterable[str] = ()) -> Checked:
        self.make()
        checked = self.check(text)
        await self.manager.start(checked.config, needed)
        return checked

    def states(self) -> dict[str, str]:
        return {status["domain"]: status["state"] for status in self.manager.statuses()}

    def reason(self, domain: str) -> str:
        status = self.manager.status(domain)
        return status.reason if status is not None else ""

    def done(self, what: str) -> list[str]:
        return [entry[1] for entry in self.hub.log if entry[0] == what]


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    kit = Kit(tmp_path)
    yield kit
    await kit.tasks.cancel_all()
    for name in [each for each in sys.modules if each.split(".")[0] == CUSTOM_FOLDER]:
        del sys.modules[name]
