"""Editors of YAML: what is typed and pasted is there, and the browser has nothing to say of the page's policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import opened
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import furnish

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGES = ("/config?file=configuration.yaml", "/automations/porch/edit?as=yaml", "/scripts/edit?id=greet&as=yaml")
COPY = """(text) => navigator.clipboard.write([new ClipboardItem({
  "text/plain": new Blob([text], { type: "text/plain" }),
  "text/html": new Blob([`<p style="color: red"><b style="font-size: 30px">${text}</b></p>`], { type: "text/html" }),
})])"""

UNKNOWN = """() => {
  const unheard = (event) => event.stopImmediatePropagation();
  addEventListener("selectionchange", unheard, true);
  addEventListener("beforeinput", () => removeEventListener("selectionchange", unheard, true), { once: true });
  document.getSelection().selectAllChildren(document.querySelector("[data-ready] .cm-content"));
}"""
"""Select all of a text before its editor hears of it, as when the machine is busy."""


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("editors") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    furnish(home)
    with HubProcess(home) as process:
        yield process


@pytest.mark.parametrize("path", PAGES)
async def test_text_takes_the_place_of_what_is_selected_however_it_comes(signed_in: BrowserContext, path: str) -> None:
    await signed_in.grant_permissions(["clipboard-read", "clipboard-write"])
    elsewhere = await signed_in.new_page()
    await elsewhere.route("**/*", lambda route: route.fulfill(body="Another site", content_type="text/html"))
    await elsewhere.goto("/copy")
    await elsewhere.evaluate(COPY, "pasted:\n  - 'one'")
    await elsewhere.close()
    page = await opened(signed_in, path)
    text = page.locator("[data-ready] .cm-content")
    await text.focus()

    async def over(text: str, *keys: str) -> None:
        await page.keyboard.press("Control+a")
        if text:
            await page.keyboard.insert_text(text)
        for key in keys:
            await page.keyboard.press(key)

    for said, shown in {"first: 1": "first: 1", "several:\n  - 'lines'": "several:\n  - 'lines'"}.items():
        await over(said)
        await expect(text).to_have_text(shown, use_inner_text=True)
    await over("", "k", ":")
    await expect(text).to_have_text("k:")
    await over("", '"')
    await expect(text).to_have_text('"k:"')
    await over("", "Control+v")
    await expect(text).to_have_text("pasted:\n  - 'one'", use_inner_text=True)
    await page.evaluate(UNKNOWN)
    await page.keyboard.insert_text("a: 1\nb: 2")
    await expect(text).to_have_text("a: 1\nb: 2", use_inner_text=True)
    await over("", "Control+x")
    await expect(text).to_have_text("")
    await page.keyboard.press("Control+v")
    await expect(text).to_have_text("a: 1\nb: 2", use_inner_text=True)
