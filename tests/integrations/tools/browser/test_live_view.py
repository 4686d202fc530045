"""The live view: people see what the agent does, take over, and give back; and the methods of operators."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from hub.core.errors import InvalidRequest, Unavailable
from hub.core.surfaces import ADMIN, BROWSER
from tests.integrations.tools.browser.conftest import Browsing, ref
from tests.integrations.tools.browser.dashboard import Dashboard
from tests.integrations.tools.browser.shop import START
from tests.web.browser import WAIT_LIMIT_MS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BUTTON = "<title>Waits</title><body style='margin:0'><button style='width:640px;height:400px'>Press</button><input>"
SCRIPT = "<script>onclick = () => { document.title = 'pressed'; document.querySelector('input').focus() }</script>"


@pytest_asyncio.fixture(loop_scope="session")
async def person(browsing: Browsing) -> AsyncIterator[Page]:
    """The page of the dashboard in a person's browser, which is a tab of the same Chromium."""
    expect.set_options(timeout=WAIT_LIMIT_MS)
    browsing.standing.tools.ask = None
    browsing.shop.pages = {"/": START, "/wait": BUTTON + SCRIPT}
    dashboard = Dashboard(browsing)
    url = await dashboard.start()
    browsing.named.append(dashboard.place)
    await browsing.visit("/wait")
    page = await browsing.profile("lan").context.new_page()
    await page.goto(url)
    yield page
    await page.close()
    browsing.named.remove(dashboard.place)
    await dashboard.stop()


async def test_a_person_watches_takes_over_once_and_gives_back(browsing: Browsing, person: Page) -> None:
    screen = person.locator("#live-screen")
    await expect(person.locator("#live-state")).to_contain_text("You see what the agent does")
    await person.wait_for_function(
        "document.getElementById('live-screen').getContext('2d').getImageData(5, 5, 1, 1).data[3]"
    )

    await person.get_by_role("button", name="Take over").click()
    await expect(person.locator("#live-state")).to_contain_text("has taken over; agents wait.")
    refused = await browsing.use("snapshot")
    await screen.click(position={"x": 100, "y": 100})
    await screen.press("a")
    await screen.press("b")
    await person.get_by_role("button", name="Give back").click()
    await expect(person.locator("#live-state")).to_contain_text("You see what the agent does")
    seen = await browsing.use("snapshot")

    assert "has taken over the browser and works in it now" in refused.output
    assert "'pressed'" in seen.output
    assert ": ab" in seen.output
    assert await person.locator("#live-error").text_content() == ""


async def test_without_taking_over_nothing_is_done(browsing: Browsing, person: Page) -> None:
    said = await person.evaluate("""async () => {
      const body = JSON.stringify({profile: "lan", kind: "down", x: 0.1, y: 0.1});
      return [await fetch("/browser/input", {method: "POST", body})
        .then(async (answer) => [answer.status, (await answer.json()).error.message])];
    }""")

    assert said == [[409, "take over the browser first"]]
    assert "'Waits'" in (await browsing.use("snapshot")).output


async def test_everything_of_the_live_view_and_every_method_is_for_administrators(browsing: Browsing) -> None:
    others = [(route.path, route.scope) for route in browsing.routes if route.scope != ADMIN]
    assert others == [("/browser/attach/{name}", BROWSER)], "what is handed over comes with a token for that alone"
    assert {method.scope for method in browsing.methods} == {ADMIN}


async def test_operators_look_and_open(browsing: Browsing) -> None:
    browsing.shop.pages = {"/": START}
    browsing.shop.redirects = {"/away": f"http://127.0.0.1:{browsing.canary.port}/"}

    opened = await browsing.operate("open", url=f"{browsing.shop.url}/")
    seen = await browsing.operate("snapshot", interactive=True)
    picture = await browsing.operate("screenshot", labels=True)
    printed = await browsing.operate("pdf")
    led = await browsing.operate(
        "use", action="act", steps=[{"kind": "click", "ref": ref(seen["snapshot"], "Table 4")}]
    )
    listed = await browsing.operate("tabs")
    status = {each["profile"]: each["running"] for each in await browsing.operate("status")}

    with pytest.raises(Unavailable, match="ERR_SOCKS_CONNECTION_FAILED"):
        await browsing.operate("open", url=f"{browsing.shop.url}/away")
    with pytest.raises(InvalidRequest, match=r"browser\.stop"):
        await browsing.operate("use", action="stop")

    assert opened["title"] == "Café"
    assert ref(seen["snapshot"], "Table 4")
    assert base64.b64decode(picture["data"]).startswith(b"\xff\xd8")
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    assert (led["tab"], "/book?table=4" in led["output"]) == (opened["tab"], True)
    assert opened["tab"] in {each["tab"] for each in listed}
    assert (status["default"], status["lan"]) == (False, True)
