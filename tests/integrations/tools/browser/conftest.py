"""One hub's parts with the browser, one shop and one canary for all tests of this folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from hub.core.context import Authority, Context
from hub.core.surfaces import Caller, MethodCall
from hub.gateway.calls.method_table import MethodTable
from hub.gateway.calls.routes import RouteTable
from hub.gateway.pages import PageTable
from hub.security.egress import Egress
from hub.tools.contract import ToolResult
from integrations.sandbox import bubblewrap
from integrations.tools import browser, files
from integrations.tools.browser.profile import BrowserProfile
from integrations.tools.browser.service import BrowserService
from tests.hosting import host_on
from tests.integrations.tools.browser.shop import Canary, Shop
from tests.integrations.tools.standing import MAIN, Standing
from tests.web.browser import NAMES

KINDS = [*{os.path.realpath(found): name for name in NAMES if (found := shutil.which(name))}.values()] or [NAMES[0]]
"""The browsers of this machine, the lightest first; what depends on the kind is tried with each."""
EVERY_KIND = pytest.mark.parametrize("browsing", KINDS, indirect=True)


class StandingGateway(Standing):
    """A hub's parts with the tables of a gateway."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        tables: Any = SimpleNamespace(methods=MethodTable(), routes=RouteTable())
        self.gateway = tables
        self.pages = PageTable(self.gateway.routes)


class Browsing:
    """A conversation that uses the browser in the profile `lan`, which reaches the shop alone."""

    def __init__(self, standing: StandingGateway, shop: Shop, canary: Canary) -> None:
        self.standing, self.shop, self.canary = standing, shop, canary
        self.methods, self.routes = standing.gateway.methods, standing.gateway.routes
        self.named = [shop.place]
        """What network.allow_private has."""
        self.used = "lan"
        """The profile."""

    async def use(
        self, action: str, *, authority: Authority | None = None, session: str = MAIN, run: str = "r", **more: Any
    ) -> ToolResult:
        arguments = {"action": action, "profile": self.used, **more}
        return await self.standing.call("browser", arguments, authority=authority, session=session, run=run)

    async def visit(self, path: str = "/") -> str:
        """Open a page of the shop and return a snapshot of it."""
        opened = await self.use("navigate", url=f"{self.shop.url}{path}")
        assert not opened.is_error, opened.output
        return (await self.use("snapshot")).output

    def profile(self, name: str) -> BrowserProfile:
        """Return a profile of the running integration."""
        tool = self.standing.tools.get("browser")
        assert tool is not None
        service: BrowserService = tool.run.__self__.service  # type: ignore[attr-defined]
        return service.profile(name)

    async def operate(self, method: str, **params: Any) -> Any:
        """Call a gateway method as an operator."""
        found = self.methods.get(f"browser.{method}")
        assert found is not None
        caller = Caller(self.standing.owner, "hub", "127.0.0.1", local=True)
        params = found.schema({"profile": "lan", **params} if method != "status" else params)
        return await found.handler(MethodCall(found.name, params, caller, Context(self.standing.owner)))

    async def act(self, *steps: dict[str, Any], **more: Any) -> ToolResult:
        return await self.use("act", steps=list(steps), **more)


def ref(snapshot: str, what: str) -> str:
    """Return the ref of the line that has these words."""
    line = next(line for line in snapshot.splitlines() if what in line and "[ref=" in line)
    return line.partition("[ref=")[2].partition("]")[0]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browsing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browsing]:
    shop, canary = Shop(), Canary()
    await shop.start()
    await canary.start()
    folder: Path = tmp_path_factory.mktemp("browser")
    standing = StandingGateway(folder / "home")
    found = Browsing(standing, shop, canary)
    standing.egress = Egress(lambda: found.named)
    hosts = [host_on(standing, domain) for domain in ("browser", "files", "bubblewrap")]
    kind = getattr(request, "param", KINDS[0])
    modes = {"lan": "managed", "boxed": "sandbox"}
    profiles = {name: {"mode": mode, "network": "private"} for name, mode in modes.items()}
    await browser.setup(hosts[0][0], {"executable": kind, "headless": True, "profiles": profiles})
    await bubblewrap.setup(hosts[2][0], None)
    await files.setup(hosts[1][0], None)
    standing.workspaces.ensure("main")
    yield found
    for _, registrations in hosts:
        await registrations.undo_all()
    await standing.egress.close()
    await standing.end()
    await canary.stop()
    await shop.stop()
