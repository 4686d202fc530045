from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    CDPSession,
    Page,
    StorageState,
    TimeoutError as PlaywrightTimeout,
    expect,
)

from tests.lengths import in_long_runs
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, another_page, is_ready, opened
from tests.web.chat.test_chat_page import say
from tests.web.looks import DESKTOP, ON_A_PHONE, PHONE, faults, misfits, violations

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGES = [
    "/devices/rooms",
    "/channels",
    "/channels/people",
    "/channels/unsent",
    "/channels/add",
    "/channels/add?channel=telegram",
    "/chat",
    "/devices/phones",
    "/devices/connected",
    "/devices/voice",
    "/devices/voice/settings",
    "/chat/sessions",
    "/devices/all",
    "/automations/reminders",
    "/",
    "/customise",
    "/timeline",
    "/memory/diary",
    "/memory/lists",
    "/tools/skills",
    "/tools/integrations",
    "/agents",
    "/agents/agent?id=main",
    "/agents/new",
    "/agents/models",
    "/agents/models/add",
    "/agents/models/add?provider=my_server",
    "/agents/usage",
    "/settings",
    "/settings/privacy",
    "/settings/people",
    "/settings/security",
    "/settings/backup",
    "/settings/update",
    "/settings/move",
    "/settings/logs",
    "/settings/status",
    "/settings/people/person?id=owner",
    "/settings/privacy/remembered",
    "/settings/files",
    "/settings/advanced/ui",
    "/settings/files/history?file=configuration.yaml",
    *in_long_runs("/tools/skills?skill=shopping-list", "/chat?session=agent:nobody:main"),
]
CUT = """() => [...document.querySelectorAll('.bottom span')]
  .filter((element) => element.checkVisibility())
  .filter((element) => element.scrollWidth > element.clientWidth || element.getBoundingClientRect().right
    > element.parentElement.getBoundingClientRect().right + 0.5)
  .map((element) => element.textContent)"""
BUNCH, BUNCHES = 20, 8
"""Presses of Tab that are sent without waiting for each; a page that is not left after all of them holds the focus."""
TAB = {"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
SHIFT_TAB = TAB | {"modifiers": 8}
BEHIND = """() => {
  const behind = document.createElement("button");
  behind.className = "behind";
  behind.style.position = "fixed";
  document.querySelector("main").after(behind);
  behind.focus();
  window.left = false;
}"""
"""Puts the focus behind the page's content, from where Shift+Tab enters it."""
WATCH_FOCUS = """() => {
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const outlined = (at) => at && (getComputedStyle(at).outlineStyle !== "none" || outlined(at.parentElement));
  const ringed = (element) => element.closest(".graph, .composer") || outlined(element);
  const covered = (element, box) => {
    const at = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height / 2, 20));
    return !at || !(element.contains(at) || at.contains(element) || at.closest("label")?.contains(element));
  };
  window.unseen = [];
  document.addEventListener("focusin", ({ target }) => {
    const box = target.getBoundingClientRect();
    const [hidden, bare] = [!shown(target) || box.width < 2, !ringed(target)];
    const why = hidden ? "hidden" : bare ? "no ring" : covered(target, box) ? "covered" : "";
    window.left ||= !target.closest("main");
    if (why && target.closest("main > *")) window.unseen.push(`${why}: ${target.outerHTML.slice(0, 120)}`);
  });
}"""
OPENERS = """() => {
  const kinds = new Set();
  return [...document.querySelectorAll("[data-dialog], [popovertarget]")].flatMap((opener) => {
    const id = opener.dataset.dialog ?? opener.getAttribute("popovertarget");
    const panel = document.getElementById(id);
    const kind = id.replace(/[-.]?\\d+$/, "");
    const closes = opener.getAttribute("popovertargetaction") === "hide";
    const shut = opener.closest("[popover], dialog") || !opener.checkVisibility() || panel?.matches("[popover=manual]");
    if (!panel || closes || shut || kinds.has(kind)) return [];
    kinds.add(kind);
    return [[kind, id]];
  });
}"""
"""The buttons of a page that open a dialog, a menu or a sheet, one of each kind, as (kind, what it opens)."""
WHERE = """(id) => {
  const [at, panel] = [document.activeElement, document.getElementById(id)];
  const open = panel.matches(":modal, :popover-open");
  const inside = panel.contains(at);
  const back = at?.dataset.dialog === id || at?.getAttribute("popovertarget") === id;
  return { open, inside, back, outside: !inside && at !== document.body };
}"""
INSIDE = f"(given) => {{ const at = ({WHERE})(given); return at.open && at.inside; }}"
BACK = f"(given) => {{ const at = ({WHERE})(given); return !at.open && at.back; }}"
RING_PX = 5
"""Width of the focus ring and its distance."""


async def fill_conversation(page: Page, model_server: OpenAIServer) -> None:
    call = {"name": "ls", "arguments": {"path": "."}}
    model_server.queue(
        [{"text": "I look."}, {"tool_call": call}],
        "# Files\n\nThere are *some*:\n\n| name | size |\n|:--|--:|\n| a | 1 |\n\n```py\nprint('x')\n```\n\n> quoted",
    )
    await say(page, "what is there?")
    await expect(page.get_by_role("log").get_by_text("quoted")).to_be_visible()
    await page.get_by_role("log").locator("details.group summary").last.click()


class Walk:
    """What was found on every page, opened once for all the tests that look at each: most of their time is for that."""

    def __init__(self, page: Page, devtools: CDPSession) -> None:
        self._page = page
        self._devtools = devtools
        self.faults: dict[str, list[str]] = {}
        self.unseen: dict[str, list[str]] = {}
        self.dialogs: set[str] = set()
        """The kinds of what opens, each tried once."""
        self.wrong: list[str] = []
        """What is wrong with where the focus goes when they open and close."""

    async def look_at(self, path: str) -> None:
        """Look at a page from a fresh start: how it looks, then at a desk by keyboard."""
        await self._page.set_viewport_size(DESKTOP)
        await self._page.goto(path)
        await is_ready(self._page)
        self.faults[path] = await faults(self._page)
        await self._page.set_viewport_size(DESKTOP)
        await self._page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self.unseen[path] = await self._tab_through()
        for kind, id in await self._page.evaluate(OPENERS):
            if kind not in self.dialogs:
                self.dialogs.add(kind)
                self.wrong += [f"{path} {kind}: {each}" for each in await self._open_and_close(id)]

    async def _tab_through(self) -> list[str]:
        """Go through the content by Tab and back; return where the focus was not seen, or that it stays."""
        page = self._page
        await page.evaluate("document.activeElement.blur()")
        await page.evaluate(WATCH_FOCUS)
        await page.get_by_role("link", name="Skip to content").focus()
        await page.keyboard.press("Enter")
        await page.evaluate("window.left = false")
        for key in (TAB, SHIFT_TAB):
            for _ in range(BUNCHES):
                await asyncio.gather(*(self._devtools.send("Input.dispatchKeyEvent", key) for _ in range(BUNCH)))
                if await page.evaluate("window.left"):
                    break
            else:
                return ["the focus does not leave the page's content"]
            await page.evaluate(BEHIND)
        await page.evaluate("document.querySelectorAll('.behind').forEach((each) => each.remove())")
        return list(await page.evaluate("window.unseen"))

    async def _open_and_close(self, id: str) -> list[str]:
        page, wrong = self._page, []
        opener = page.locator(f":is([data-dialog='{id}'], [popovertarget='{id}']):visible").first
        await opener.focus()
        await page.keyboard.press("Enter")
        try:
            await page.wait_for_function(INSIDE, arg=id)
        except PlaywrightTimeout:
            return [f"Enter leads to {await page.evaluate(WHERE, id)}"]
        for step in ("Shift+Tab", "Tab", "Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab"):
            await page.keyboard.press(step)
            if (await page.evaluate(WHERE, id))["outside"]:
                wrong.append(f"{step} leaves it")
        await page.keyboard.press("Escape")
        try:
            await page.wait_for_function(BACK, arg=id)
        except PlaywrightTimeout:
            wrong.append(f"Escape leaves {await page.evaluate(WHERE, id)}")
        return wrong


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def walk(browser: Browser, hub: HubProcess, cookies: StorageState, model_server: OpenAIServer) -> Walk:
    async with Chromium(browser, hub.url) as profiles:
        context = await profiles.context(storage_state=cookies)
        profiles.allowed.append("status of 404")
        page = await opened(context, "/chat?session=agent:main:webchat:direct:looks")
        walk = Walk(page, await context.new_cdp_session(page))
        await fill_conversation(page, model_server)
        walk.faults["a conversation"] = await faults(page)
        for path in PAGES:
            await walk.look_at(path)
    assert profiles.unexpected() == []
    return walk


@pytest.mark.timeout(600)
async def test_every_page_is_accessible_and_fits(walk: Walk) -> None:
    assert walk.faults == {each: [] for each in ("a conversation", *PAGES)}


@pytest.mark.timeout(600)
async def test_tab_goes_through_every_page_and_back_and_one_always_sees_where_one_is(walk: Walk) -> None:
    assert walk.unseen == {path: [] for path in PAGES}


@pytest.mark.timeout(600)
async def test_the_focus_goes_into_what_opens_stays_there_and_comes_back(walk: Walk) -> None:
    assert walk.wrong == []
    assert len(walk.dialogs) >= 8, walk.dialogs


async def test_menus_and_tabs_are_walked_by_the_arrow_keys_and_give_the_focus_back(page: Page) -> None:
    await page.goto("/automations/reminders")
    await is_ready(page)
    await page.get_by_role("navigation", name="Automations").get_by_role("link", name="Reminders").focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("link", name="Scripts")).to_be_focused()
    await page.keyboard.press("Home")
    await expect(page.get_by_role("navigation", name="Automations").get_by_role("link").first).to_be_focused()

    await page.goto("/settings/advanced/ui")
    await is_ready(page)
    opener = page.locator("main [aria-haspopup]").first
    await opener.focus()
    await page.keyboard.press("ArrowDown")
    entries = page.locator(".menu:popover-open :is(a, button)")
    await expect(entries.first).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(entries.nth(1)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(opener).to_be_focused()


async def test_a_conversation_is_accessible_on_a_phone(
    chromium: Chromium, cookies: StorageState, model_server: OpenAIServer
) -> None:
    page = await (await chromium.context(storage_state=cookies, **ON_A_PHONE)).new_page()
    await page.goto("/chat?session=agent:main:webchat:direct:phone")
    await is_ready(page)
    await fill_conversation(page, model_server)

    assert [*await violations(page), *await misfits(page)] == []


async def test_the_sign_in_page_is_accessible_and_fits(chromium: Chromium) -> None:
    page = await (await chromium.context()).new_page()

    await page.goto("/login")
    await page.wait_for_selector("html[data-ready]")

    assert await faults(page) == []


async def test_the_focus_ring_of_the_sign_in_code_is_not_covered(chromium: Chromium) -> None:
    page = await (await chromium.context()).new_page()
    await page.goto("/login")

    field = await page.get_by_label("Sign-in code").bounding_box()
    button = await page.get_by_role("button", name="Sign in").bounding_box()

    assert field is not None
    assert button is not None
    assert button["y"] - (field["y"] + field["height"]) > RING_PX


@pytest.mark.parametrize("language", ["en", "zh-CN"])
async def test_the_names_in_the_bar_of_a_phone_are_not_cut(
    chromium: Chromium, cookies: StorageState, language: str
) -> None:
    page = await (await chromium.context(storage_state=cookies, **ON_A_PHONE, locale=language)).new_page()
    await page.goto("/")
    await is_ready(page)

    cut = await page.evaluate(CUT)

    assert cut == []


async def test_dialogs_and_menus_are_accessible(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("dialog", name="Search or do")).to_be_visible()
    found = await violations(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Search or do")).to_be_hidden()
    await page.get_by_role("log").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    found += await violations(page)
    await page.get_by_role("button", name="Close").click()
    await page.get_by_role("button", name="Owner").click()
    found += await violations(page)

    assert found == []


async def test_the_palette_goes_where_one_types(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox").fill("timel")
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/timeline")


async def test_letters_go_to_pages_but_not_while_typing(page: Page) -> None:
    await page.get_by_role("textbox", name="Message").press_sequentially("go?n")
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("go?n")
    await page.get_by_role("log").focus()

    await page.evaluate("Date.now = () => 0")  # the second letter counts for a moment only
    await page.keyboard.press("g")
    await page.keyboard.press("t")

    await page.wait_for_url("**/timeline")


async def test_letters_can_be_switched_off(page: Page) -> None:
    await page.get_by_role("button", name="Owner").click()
    await page.get_by_label("Single-letter shortcuts").uncheck()
    async with another_page(page):
        await page.get_by_role("button", name="Save").click()

    await page.get_by_role("log").press("?")

    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_the_theme_can_be_chosen_against_the_system(chromium: Chromium, cookies: StorageState) -> None:
    page = await (await chromium.context(storage_state=cookies, color_scheme="light")).new_page()
    await page.goto("/")
    light = await page.evaluate("getComputedStyle(document.body).backgroundColor")

    await page.get_by_role("button", name="Owner").click()
    await page.get_by_role("radio", name="Dark").check()
    async with another_page(page):
        await page.get_by_role("button", name="Save").click()

    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.url.endswith("/")


async def test_a_chinese_browser_is_answered_in_chinese(
    chromium: Chromium, cookies: StorageState, model_server: OpenAIServer
) -> None:
    page = await (await chromium.context(storage_state=cookies, locale="zh-CN")).new_page()
    model_server.queue("好的，记住了。")
    await page.goto("/chat")
    await is_ready(page)

    await page.get_by_role("textbox", name="消息").fill("记住：锅炉在5月12日保养过")
    await page.get_by_role("button", name="发送").click()

    await expect(page.get_by_role("log").get_by_text("好的，记住了。")).to_be_visible()
    assert await page.evaluate("document.documentElement.lang") == "zh-CN"
    await expect(page.get_by_role("complementary", name="会话").get_by_role("link", name="主会话")).to_be_visible()
    await expect(page.get_by_role("link", name="时间线", exact=True)).to_be_visible()
    for path in ("/settings/files", *in_long_runs("/", "/chat/sessions")):
        await page.goto(path)
        await is_ready(page)
        assert await violations(page) == []


async def test_the_language_can_be_chosen(page: Page) -> None:
    await page.get_by_role("button", name="Owner").click()
    await page.get_by_label("Language").select_option("zh-CN")
    await page.get_by_role("button", name="Save").click()

    await expect(page.get_by_role("link", name="时间线", exact=True)).to_be_visible()


async def test_a_phone_has_its_navigation_at_the_bottom_and_lists_conversations_on_a_page(
    chromium: Chromium, cookies: StorageState
) -> None:
    page = await (await chromium.context(storage_state=cookies, **ON_A_PHONE)).new_page()
    await page.goto("/chat")
    await is_ready(page)

    box = await page.get_by_role("navigation", name="Main").bounding_box()
    await page.get_by_role("link", name="Conversations").click()

    await page.wait_for_url("**/chat/sessions")
    assert box is not None
    assert box["y"] > PHONE["height"] - 100
