"""Settings as forms: what is changed is written as a person would, and what is not valid stays in the form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import another_page, opened
from tests.web.conftest import CONFIGURATION
from tests.web.plain_browser import PlainBrowser
from web.settings.logs_page import log_records


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("settings") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    with HubProcess(home) as process:
        yield process


def written(hub: HubProcess) -> str:
    return (hub.home / "configuration.yaml").read_text()


async def test_a_changed_name_is_written_and_takes_effect(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings")
    plain.fill("Name of the home", "Elm Street")
    await plain.press("Save", within="main")

    assert "The change is in force." in plain.text(".notice")
    assert "name: Elm Street" in written(hub)
    assert "# The home of the browser tests." in written(hub)
    await plain.goto("/settings")
    assert plain.value("Name of the home") == "Elm Street"


async def test_what_is_not_valid_stays_in_the_form_and_is_not_written(plain: PlainBrowser, hub: HubProcess) -> None:
    before = written(hub)
    await plain.goto("/settings")
    plain.fill("Latitude", "123")
    plain.fill("Longitude", "13.4")
    await plain.press("Save", within="main")

    assert plain.text(".wrong")
    assert plain.value("Latitude") == "123"
    assert plain.value("Longitude") == "13.4"
    assert written(hub) == before


async def test_how_commands_are_approved_is_chosen(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings/privacy")
    for each in plain.page.select("[name='exec.mode']"):
        each.attrs.pop("checked", None)
    plain.check("Never")
    await plain.press("Save", within="main")

    assert "mode: deny" in written(hub)


async def test_a_setting_is_found_by_its_words(plain: PlainBrowser) -> None:
    await plain.goto("/settings?q=time+zone")

    assert "Time zone" in plain.texts(".rows a")


async def test_a_setting_is_reset_to_its_default_and_what_was_typed_stays(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings")
    plain.fill("Latitude", "52.5")
    plain.fill("Longitude", "13.4")
    plain.fill("Elevation", "34")
    await plain.press("Save", within="main")
    assert "elevation: 34" in written(hub)

    plain.fill("Longitude", "14")
    await plain.press("Reset to default: Elevation")
    assert "The change is in force." in plain.text(".notice")
    assert "elevation" not in written(hub)
    assert "longitude: 13.4" in written(hub)
    assert (plain.value("Elevation"), plain.value("Longitude")) == ("", "14")

    await plain.press("Reset to default: Latitude")
    assert "same group" in plain.text(".wrong")
    assert "latitude: 52.5" in written(hub)


async def test_what_is_in_the_file_is_shown_there_and_a_restart_is_announced(plain: PlainBrowser) -> None:
    await plain.goto("/settings")
    links = [str(each["href"]) for each in plain.page.select(".menu a")]
    assert "/settings/files?file=configuration.yaml#L3" in links
    await plain.goto("/settings/network")
    assert "needs a restart" in plain.text("main")


async def test_the_history_says_day_who_and_what(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings")
    plain.fill("Name of the home", "Harbour")
    await plain.press("Save", within="main")

    await plain.goto("/settings/files/history?file=configuration.yaml")
    assert "on a page" in plain.texts(".rows small")[0]
    assert "name: Harbour" in plain.texts(".rows a")[0]
    assert plain.texts("section.card h2")


async def test_what_was_allowed_for_good_is_listed_and_forgotten(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings/privacy")
    assert "0 remembered answers" in plain.text("main")
    await plain.follow("Manage")
    assert "Nothing is remembered" in plain.text("main")


async def test_a_token_is_made_shown_once_and_revoked(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings/people")
    plain.fill("What it is for", "Wall tablet")
    await plain.press("Make a token")

    assert plain.text(".card.needs pre")
    await plain.goto("/settings/people")
    assert "Wall tablet" in plain.text("main")
    assert not plain.page.select(".card.needs")
    await plain.press("Revoke Wall tablet")
    assert "Wall tablet" not in plain.text("main")


async def test_a_name_that_is_missing_is_said_at_its_field(plain: PlainBrowser, hub: HubProcess) -> None:
    before = written(hub)
    for field, button in (("Name", "Add"), ("What it is for", "Make a token")):
        await plain.goto("/settings/people")
        plain.fill(field, " ")
        await plain.press(button)

        assert plain.status == 400
        assert "A name of at most 100 letters was expected." in plain.text(".field .wrong")
        assert "Programs and other machines" in plain.text("main")
    assert written(hub) == before


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_one_bar_counts_what_changed_and_discards_or_saves_it(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/settings")
    save = page.get_by_role("button", name="Save", exact=True)
    await expect(save).to_be_hidden()

    await page.get_by_role("textbox", name="Name of the home").fill("Quay")
    await page.get_by_role("spinbutton", name="Latitude").fill("40.4")
    await page.get_by_role("spinbutton", name="Longitude").fill("11")
    await expect(page.get_by_text("3 changes")).to_be_visible()
    async with another_page(page):
        await page.get_by_role("link", name="Discard").click()
    await expect(save).to_be_hidden()
    assert "Quay" not in written(hub)

    await page.get_by_role("textbox", name="Name of the home").fill("Quay")
    await expect(page.get_by_text("1 change", exact=True)).to_be_visible()
    await page.get_by_role("textbox", name="Name of the home").press("Enter")
    await expect(page.get_by_text("The change is in force.")).to_be_visible()
    assert "name: Quay" in written(hub)


async def test_a_person_is_added_beside_the_owner(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings/people")
    plain.fill("Name", "Ada")
    await plain.press("Add")

    assert "Ada" in plain.text("main")
    assert "id: ada" in written(hub)
    assert "owner: true" in written(hub)


async def test_a_person_is_edited_with_their_chat_accounts_and_removed(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/settings/people")
    plain.fill("Name", "Bea")
    await plain.press("Add")
    await plain.follow("Bea")
    plain.fill("Name", "Beate")
    plain.fill("The account, as the app names it", "Beate on Telegram")
    await plain.press("Save")
    assert plain.status == 400
    assert "Expected an account such as telegram:user:123456789" in plain.text(".wrong")
    assert plain.value("Name") == "Beate"
    assert "Beate" not in written(hub)

    plain.fill("The account, as the app names it", "telegram:user:42")
    await plain.press("Save")
    assert "name: Beate" in written(hub)
    assert "telegram:user:42" in written(hub)
    await plain.goto("/settings/people/person?id=bea")
    plain.field("42 is theirs").attrs.pop("checked")
    await plain.press("Save")
    assert "telegram:user:42" not in written(hub)

    await plain.goto("/settings/people/person?id=bea")
    await plain.press("Remove the person")
    assert "Beate" not in plain.text("main")
    assert "bea" not in written(hub)


async def test_the_last_owner_stays(plain: PlainBrowser, hub: HubProcess) -> None:
    before = written(hub)
    owner = next(each["id"] for each in hub.rpc("pairing.list")["people"] or [{"id": "owner"}] if each["id"] != "ada")
    await plain.goto(f"/settings/people/person?id={owner}")
    plain.field("Owns this home").attrs.pop("checked")
    await plain.press("Save")

    assert plain.status == 409
    assert "At least one person must own this home" in plain.text(".wrong")
    await plain.press("Remove the person")
    assert "At least one person must own this home" in plain.text(".wrong")
    assert written(hub) == before


async def test_the_log_is_shown_and_filtered(plain: PlainBrowser) -> None:
    await plain.goto("/settings/logs?level=CRITICAL")
    assert not plain.page.select("#log > li")

    await plain.goto("/settings/logs")
    assert plain.page.select("#log > li")


def test_lines_without_a_level_belong_to_the_record_before() -> None:
    lines = ["2026-11-24 10:00:00,123 ERROR hub.core: it broke", "Traceback", "2026-11-24 10:00:01,000 INFO web: on"]

    records = log_records(lines)

    assert [each["level"] for each in records] == ["ERROR", "INFO"]
    assert records[0]["text"] == "it broke\nTraceback"
