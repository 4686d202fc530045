"""Integrations from elsewhere: refused, waiting, looked at, enabled, updated and removed; over real folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.cli.configured import check_home
from hub.config.seed import seed
from hub.core.clock import Clock
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.extensions.custom_integrations import CustomIntegrations, has_drifted, integration_pins
from hub.security.egress import Egress
from hub.storage.homedir import Home
from tests.extensions.makes import REFUSED, SETUP, rain

TAKEN = {"telegram": "an integration that comes with Homarus", "agents": "a section of the configuration"}


class InstallingHome(CustomIntegrations):
    """A home that integrations are installed into."""

    def __init__(self, folder: Path, install: str = "auto", allow_private: list[str] | None = None) -> None:
        self.home = Home(folder)
        self.home.create()
        seed(self.home)
        text = self.home.configuration.read_text()
        self.home.configuration.write_text(f"{text}\nhub: {{install: {install}}}\n" if "hub:" not in text else text)
        self.config = check_home(folder).config
        egress = Egress(lambda: allow_private or [])
        super().__init__(self.home, egress, lambda: self.config, lambda: TAKEN, Clock())

    async def enabled(self, domain: str = "rain", *, accept: bool = False) -> str:
        await self.enable(domain, (await self.look(domain)).digest, accept=accept)
        return (await self.look(domain)).state

    def there(self) -> list[str]:
        """Every file of an integration, whether it waits or not."""
        roots = (self.home.custom_integrations, self.home.storage / "waiting_integrations")
        return sorted(str(each.relative_to(self.home.path)) for root in roots for each in root.rglob("*.py"))


@pytest.fixture
def home(tmp_path: Path) -> InstallingHome:
    return InstallingHome(tmp_path / "home")


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_leaves_nothing_behind(home: InstallingHome, name: str) -> None:
    data, told = REFUSED[name]

    with pytest.raises(HubError, match=told):
        await home.install(data, {})

    assert home.there() == []
    assert await home.waiting() == []


async def test_one_waits_out_of_the_hubs_sight_until_what_was_looked_at_is_enabled(home: InstallingHome) -> None:
    domain = await home.install(rain(folder="homarus-rain-main"), {"kind": "zip"})
    look = await home.look(domain)

    assert (domain, look.state, await home.waiting()) == ("rain", "waiting", ["rain"])
    assert not home.home.custom_integrations.exists()
    with pytest.raises(Conflict, match="have changed since you saw them"):
        await home.enable("rain", "0" * 64)
    await home.enable("rain", look.digest)

    assert (await home.look("rain")).state == "enabled"
    assert await home.waiting() == []
    assert (home.home.custom_integrations / "rain" / "__init__.py").read_text() == SETUP
    assert integration_pins(home.home).all()["rain"].origin == {"kind": "zip"}


async def test_what_changes_while_it_waits_is_not_enabled(home: InstallingHome) -> None:
    await home.install(rain(), {})
    look = await home.look("rain")
    (home.home.storage / "waiting_integrations" / "rain" / "__init__.py").write_text("import os")

    with pytest.raises(Conflict, match="have changed"):
        await home.enable("rain", look.digest)


async def test_one_that_is_there_is_replaced_only_when_asked_and_runs_on_until_the_new_one_is_enabled(
    home: InstallingHome,
) -> None:
    await home.install(rain(), {})
    await home.enabled()

    with pytest.raises(Conflict, match="there is an integration rain already"):
        await home.install(rain(f"{SETUP}# new"), {})
    await home.install(rain(), {}, overwrite=True)
    assert (await home.look("rain")).state == "enabled", "the same files have to be enabled again"
    await home.install(rain(f"{SETUP}# new"), {}, overwrite=True)

    look = await home.look("rain")
    assert (look.state, look.differs) == ("waiting", ("__init__.py",))
    assert (home.home.custom_integrations / "rain" / "__init__.py").read_text() == SETUP
    assert await home.enabled() == "enabled"
    assert (home.home.custom_integrations / "rain" / "__init__.py").read_text() == f"{SETUP}# new"


async def test_a_manifest_of_another_name_is_no_update(home: InstallingHome) -> None:
    await home.install(rain(), {})
    await home.enabled()

    with pytest.raises(InvalidRequest, match="this is the integration snow; expected rain"):
        await home.install(rain(domain="snow"), {}, overwrite=True, domain="rain")
    assert await home.waiting() == []


async def test_a_changed_file_is_said_until_it_is_looked_at_again_and_bytecode_is_none(home: InstallingHome) -> None:
    await home.install(rain(), {})
    await home.enabled()
    folder, pin = home.home.custom_integrations / "rain", integration_pins(home.home).all()["rain"]
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert not has_drifted(folder, pin)
    assert not has_drifted(folder, None)

    (folder / "more.py").write_text("import os")

    assert has_drifted(folder, pin)
    assert (await home.look("rain")).state == "changed"
    assert await home.enabled() == "enabled"
    assert not has_drifted(folder, integration_pins(home.home).all()["rain"])


async def test_one_that_was_put_there_by_hand_is_its_owners(home: InstallingHome) -> None:
    folder = home.home.custom_integrations / "rain"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"domain": "rain", "name": "Rain"}')

    assert (await home.look("rain")).state == "own"
    with pytest.raises(NotFound):
        await home.look("../rain")


@pytest.mark.parametrize(
    ("requirement", "extra", "install", "told"),
    [
        ("aiohttp>=3", None, "never", None),
        ("python-telegram-bot", "telegram", "never", None),
        ("evil-package", None, "auto", "neither installed nor in the lock.*uv pip install evil-package"),
        ("evil-package", "telegram", "auto", "neither installed nor in the lock"),
        ("evil-package", "no_such_extra", "ask", "neither installed nor in the lock"),
        ("x'; rm -rf ~", None, "auto", "uv pip install 'x'\"'\"'; rm -rf ~'"),
    ],
)
async def test_packages_come_from_the_lock_or_not_at_all(
    tmp_path: Path, requirement: str, extra: str | None, install: str, told: str | None
) -> None:
    home = InstallingHome(tmp_path / "home", install)
    await home.install(rain(requirements=[requirement], extra=extra), {})

    if told is None:
        assert await home.enabled() == "enabled"
        return
    with pytest.raises(Conflict, match=told):
        await home.enabled()
    assert not home.home.custom_integrations.exists()


async def test_signs_of_harm_are_accepted_or_it_stays_off(home: InstallingHome) -> None:
    await home.install(rain(f"{SETUP}\nexec('x')\n"), {})

    with pytest.raises(Conflict, match=r"__init__\.py line 4 makes code while it runs"):
        await home.enabled()
    assert await home.enabled(accept=True) == "enabled"


async def test_one_is_fetched_from_where_the_owner_allows(home: InstallingHome, tmp_path: Path) -> None:
    async def give(request: web.Request) -> web.Response:
        return web.Response(body=rain()) if request.path == "/rain.zip" else web.Response(status=404)

    application = web.Application()
    application.router.add_get("/{file}", give)
    async with TestServer(application) as server:
        allowed = InstallingHome(tmp_path / "other", allow_private=[f"127.0.0.1:{server.port}"])
        url = f"http://127.0.0.1:{server.port}/rain.zip"
        with pytest.raises(HubError):
            await home.install_url(url)
        with pytest.raises(InvalidRequest, match="answered 404; expected an archive of an integration"):
            await allowed.install_url(f"http://127.0.0.1:{server.port}/snow.zip")
        assert await allowed.install_url(url) == "rain"
        assert (await allowed.look("rain")).pin.origin == {"kind": "url", "source": url}


async def test_removing_deletes_what_waits_and_then_what_is_there(home: InstallingHome) -> None:
    await home.install(rain(), {})
    await home.enabled()
    await home.install(rain(f"{SETUP}# new"), {}, overwrite=True)

    assert [await home.remove("rain"), await home.remove("rain")] == ["waiting", "enabled"]
    assert home.there() == []
    assert integration_pins(home.home).all() == {}
    with pytest.raises(NotFound):
        await home.remove("rain")
