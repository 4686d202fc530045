"""A home with blueprints, and a server to import from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from hub.automation.blueprints.blueprints import Blueprints
from hub.automation.definition.grammar import automation
from hub.security.egress import Egress
from tests.automation.blueprints.house import House
from tests.security.web_servers import WebServer, started


class Shelf:
    """A home whose blueprints a test writes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.allowed: set[str] = set()
        self.kept: list[tuple[str, bytes]] = []
        self.egress = Egress(lambda: self.allowed)
        self.blueprints = Blueprints(home, self.egress, lambda name, data: self.kept.append((name, data)))

    def write(self, text: str, path: str = "me/test.yaml", domain: str = "automation") -> Path:
        file = self.home / "blueprints" / domain / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return file

    def expand(self, inputs: dict[str, Any] | None = None, path: str = "me/test.yaml", **own: Any) -> dict[str, Any]:
        """What the engine does: the grammar takes the item as it stands, then it is filled in."""
        item = automation({"id": "x", **own, "use_blueprint": {"path": path, "input": inputs or {}}})
        return self.blueprints.expand(item)


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    await made.egress.close()


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A home that is not started yet, and is stopped at the end if it runs."""
    made = House(tmp_path)
    yield made
    if made.running:
        await made.stop()
    await made.egress.close()
