"""The page of integrations from elsewhere: one is uploaded, looked at, enabled, switched off and removed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.extensions.makes import REFUSED, SETUP, rain
from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser

PATH = "/tools/integrations"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(tmp_path_factory.mktemp("integrations") / "home") as process:
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as browser:
        await browser.goto(PATH)
        yield browser


async def test_one_is_uploaded_looked_at_enabled_switched_off_and_removed(plain: PlainBrowser, hub: HubProcess) -> None:
    code = f"import socket\n\n\n{SETUP}"
    plain.choose_file("Or a file", "rain.zip", rain(code, default=True, description="Tells <b>rain</b>."))
    await plain.press("Install")

    assert "waits to be enabled" in plain.text("#integration")
    assert "This is a program" in plain.text("main")
    assert "__init__.py:1 socket" in plain.text("#integration")
    assert "Tells <b>rain</b>." in plain.text("main")
    assert not (hub.home / "custom_integrations" / "rain").exists()

    await plain.press("Enable")
    assert "as you enabled it" in plain.text("#integration")
    await plain.goto(PATH)
    assert "Works" in plain.text("#integrations")

    await plain.goto(f"{PATH}?integration=rain")
    await plain.press("Switch off")
    await plain.press("Remove the integration")
    assert not (hub.home / "custom_integrations" / "rain").exists()


async def test_one_with_signs_of_harm_is_enabled_only_in_spite_of_them(plain: PlainBrowser) -> None:
    plain.choose_file("Or a file", "rain.zip", rain(f"{SETUP}exec('x')\n"))
    await plain.press("Install")

    assert "Makes code while it runs" in plain.text("#findings")
    await plain.press("Enable")  # a browser would ask for the tick first
    assert (plain.status, "signs of harm" in plain.text("[role=alert]")) == (409, True)
    await plain.press("Remove the integration")


@pytest.mark.parametrize("attack", ["zip slip", "symlink", "bomb", "the name of one that comes with Homarus"])
async def test_an_archive_that_is_refused_says_why_at_its_field(plain: PlainBrowser, attack: str) -> None:
    data, _ = REFUSED[attack]
    plain.choose_file("Or a file", "x.zip", data)
    await plain.press("Install")

    assert plain.status in (400, 409)
    assert plain.text(".field .wrong")
    await plain.goto(PATH)
    assert "All integrations came with Homarus." in plain.text("main")
