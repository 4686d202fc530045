"""Reminders: added with a date, listed by day, put off and done, without script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.conftest import CONFIGURATION
from tests.web.plain_browser import PlainBrowser, plain_browser

PATH = "/automations/reminders"


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("reminders") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    with HubProcess(home) as process:
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as browser:
        await browser.goto(PATH)
        yield browser


def in_days(days: int) -> str:
    return f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT12:00}"


async def added(plain: PlainBrowser, what: str, at: str) -> None:
    plain.fill("What", what)
    plain.fill("When", at)
    await plain.press("Add")


async def test_one_is_added_for_tomorrow_put_off_and_done(plain: PlainBrowser, hub: HubProcess) -> None:
    await added(plain, "Call Anna", in_days(3))
    assert "Call Anna" in plain.having("section", "Later").get_text()

    await plain.press("In an hour")
    (job,) = hub.rpc("cron.list", {})["jobs"]
    assert 0 < job["state"]["nextRunAtMs"] / 1000 - datetime.now(UTC).timestamp() <= 3_601

    await plain.press("Done: Call Anna")
    assert "Nothing to remind you of." in plain.text()
    assert hub.rpc("cron.list", {})["jobs"] == []


async def test_one_that_comes_again_and_again_stands_by_itself(plain: PlainBrowser, hub: HubProcess) -> None:
    job = {"name": "Bins", "schedule": {"kind": "cron", "expr": "0 19 * * 1"}}
    hub.rpc("cron.add", job | {"payload": {"kind": "message", "text": "Put out the bins"}})

    await plain.goto(PATH)

    assert "Put out the bins" in plain.having("section", "Repeating").get_text()
    await plain.goto("/automations")
    assert "There are no automations yet." in plain.text()
    await plain.goto(PATH)
    await plain.press("Delete")
    assert hub.rpc("cron.list", {})["jobs"] == []


@pytest.mark.parametrize(
    ("what", "at", "told"),
    [
        ("", "2099-01-01T09:00", "Say what you want to be reminded of."),
        ("Call Anna", "", "Choose a day and a time."),
        ("Call Anna", "2020-01-01T09:00", "is in the past; give a future time"),
    ],
)
async def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    plain: PlainBrowser, what: str, at: str, told: str
) -> None:
    await added(plain, what, at)

    assert told in plain.text("dialog[open]")
    assert plain.value("What") == what
    assert plain.value("When") == at
