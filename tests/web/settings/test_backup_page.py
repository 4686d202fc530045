"""The page of backups without script: made, looked into, uploaded, restored, and set up, in a real hub."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.backup.homes import PASSPHRASE
from tests.servers.hub_process import HubProcess
from tests.until import until
from tests.web.plain_browser import PlainBrowser, plain_browser

PATH = "/settings/backup"
CONFIGURATION = "hub: {name: Elm Street}\nmemory: {embeddings: {provider: none}}\n"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    home = tmp_path / "home"
    (home / "workspace").mkdir(parents=True)
    home.chmod(0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION)
    (home / "workspace" / "large.bin").write_bytes(os.urandom(3_000_000))
    with HubProcess(home) as hub:
        yield hub


@pytest.fixture
async def tab(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as tab:
        yield tab


async def made(hub: HubProcess, tab: PlainBrowser) -> Path:
    """Make a backup with the button, and wait until the page lists it."""
    await tab.goto(PATH)
    await tab.press("Back up now")
    async with asyncio.timeout(60):
        while not tab.page.select("#backups li") or tab.page.select("progress"):
            await tab.goto(PATH)
    (found,) = (hub.home / "backups").glob("homarus-elm_street-*")
    return found


async def downloaded(hub: HubProcess, tab: PlainBrowser, link: str) -> bytes:
    async with ClientSession(cookies=tab.cookies) as session, session.get(f"{hub.url}{link}") as answer:
        assert answer.status == 200
        assert answer.headers["Content-Disposition"].startswith("attachment")
        return await answer.read()


async def test_one_is_made_checked_downloaded_and_deleted(hub: HubProcess, tab: PlainBrowser) -> None:
    archive = await made(hub, tab)

    assert "Not encrypted" in tab.text("#backups")
    assert "holds the keys and tokens of your home in the clear" in tab.text()
    (link,) = [str(each["href"]) for each in tab.page.select("#backups a") if "download" in str(each["href"])]
    assert await downloaded(hub, tab, link) == archive.read_bytes()

    await tab.press("Check")
    assert "The backup is sound" in tab.text("main [role=status]")

    await tab.press("Delete the backup")
    assert not archive.exists()
    assert "There is no backup yet" in tab.text()


async def test_an_uploaded_one_is_looked_into_and_the_hub_restarts_on_it(hub: HubProcess, tab: PlainBrowser) -> None:
    data = (await made(hub, tab)).read_bytes()
    assert len(data) > 2_000_000
    (hub.home / "workspace" / "large.bin").unlink()
    (hub.home / "configuration.yaml").write_text("hub: {name: Another}\n" + CONFIGURATION.split("\n", 1)[1])
    await tab.goto("/welcome")

    tab.choose_file("Backup file", "homarus.tar.gz", data)
    await tab.press("Look into it")

    assert tab.url.endswith("/settings/backup/restore?source=upload")
    assert "Elm Street" in tab.text()
    assert "Nothing has changed yet" in tab.text()
    assert not (hub.home / "workspace" / "large.bin").exists()

    await tab.press("Restore")

    assert "The hub restarts" in tab.text()
    await until(lambda: list((hub.home / ".storage").glob("replaced-*")))
    await asyncio.to_thread(hub.wait_ready)
    assert (hub.home / "workspace" / "large.bin").stat().st_size == 3_000_000
    assert "Elm Street" in (hub.home / "configuration.yaml").read_text()
    async with plain_browser(hub) as again:
        await again.goto(PATH)
        assert "The home from before the restore" in again.text()


async def test_an_encrypted_one_asks_for_its_passphrase(hub: HubProcess, tab: PlainBrowser) -> None:
    await tab.goto(PATH)
    tab.fill("Passphrase", PASSPHRASE)
    await tab.press("Save")
    assert PASSPHRASE in (hub.home / "secrets.yaml").read_text()
    assert "passphrase: !secret backup_passphrase" in (hub.home / "configuration.yaml").read_text()
    archive = await made(hub, tab)
    assert archive.name.endswith(".age")
    assert PASSPHRASE not in str(tab.page)
    await tab.press("Reset to default: Passphrase")
    assert "passphrase" not in (hub.home / "configuration.yaml").read_text()

    await tab.goto(f"{PATH}/restore?source={archive.name}")
    assert "This backup is encrypted" in tab.text()
    tab.fill("Passphrase", "another one altogether")
    await tab.press("Look into it")
    assert "not the passphrase" in tab.text("main [role=alert]")
    tab.fill("Passphrase", PASSPHRASE)
    await tab.press("Look into it")

    assert "Elm Street" in tab.text()
    assert PASSPHRASE not in str(tab.page)


async def test_other_files_are_refused_with_a_reason(hub: HubProcess, tab: PlainBrowser) -> None:
    await tab.goto(PATH)
    tab.choose_file("Backup file", "holiday.jpg", os.urandom(2_000_000))
    await tab.press("Look into it")

    assert "This is not a backup of Homarus" in tab.text("main [role=alert]")
    assert not tab.page.select("button[data-dialog=restore-it]")


async def test_the_schedule_is_a_form(hub: HubProcess, tab: PlainBrowser) -> None:
    await tab.goto(PATH)
    for each in tab.page.select("input[name='backup.schedule.every']"):
        each.attrs.pop("checked", None)
        if each["value"] == "day":
            each["checked"] = ""
    tab.fill("At", "04:15")
    await tab.press("Save")

    text = (hub.home / "configuration.yaml").read_text()
    assert "every: day" in text
    assert "04:15" in text
    assert "The next one:" in tab.text()


async def test_whoever_may_not_change_the_home_sees_nothing_of_it(hub: HubProcess) -> None:
    made = hub.rpc("token.create", {"name": "reader", "scopes": ["operator.read", "operator.write"]})
    async with ClientSession(headers={"Authorization": f"Bearer {made['token']}"}) as session:
        for path in (PATH, f"{PATH}/download?name=x", f"{PATH}/restore?source=x"):
            async with session.get(f"{hub.url}{path}") as answer:
                assert answer.status == 403
        async with session.post(f"{hub.url}{PATH}/upload", data={"file": io.BytesIO(b"x")}) as answer:
            assert answer.status == 403
    assert not (hub.home / ".storage" / "restore").exists()
