"""The steps of an act on a page, one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hub.core.errors import InvalidRequest
from hub.tools.contract import ToolCall
from integrations.tools.browser.profile import ACT_LIMIT_MS, BrowserProfile
from integrations.tools.browser.service import BrowserService
from integrations.tools.browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import FilePayload, Locator

EVALUATED_LIMIT = 5_000
SETTLE_LIMIT_MS = 2_000.0


class ActFailed(Exception):
    """A step could not be done; its words may come from the page."""


class BrowserActing:
    """Does steps.

    Args:
        service: Reads the files that are uploaded.
    """

    def __init__(self, service: BrowserService) -> None:
        self._service = service

    async def run(self, call: ToolCall, profile: BrowserProfile, tab: Tab, steps: list[Mapping[str, Any]]) -> list[str]:
        """Carry out steps in order; return their results.

        Raises:
            InvalidRequest: A step lacks a parameter, or its ref is of an earlier page.
            Conflict: A person took over meanwhile.
            ActFailed: The page did not allow it.
        """
        from playwright.async_api import Error

        told: list[str] = []
        for number, step in enumerate(steps, start=1):
            profile.refuse_while_taken()
            tab.refuse_foreign()
            try:
                gave = await self._step(call, tab, step)
            except Error as error:
                done = f"; {number - 1} steps before it were done" if number > 1 else ""
                raise ActFailed(f"step {number} ({step['kind']}) failed: {first_line(error)}{done}") from error
            if gave:
                told.append(gave)
        await _settle(tab)
        return told

    async def _step(self, call: ToolCall, tab: Tab, step: Mapping[str, Any]) -> str:
        page = tab.page
        timeout = float(step.get("timeout_ms", ACT_LIMIT_MS))
        found = await tab.locator(step["ref"]) if "ref" in step else None
        match step["kind"], found:
            case "type", _:
                if found is not None:
                    await found.focus(timeout=timeout)
                await page.keyboard.type(_given(step, "text"))
                await _submit(tab, step)
            case "press", None:
                await page.keyboard.press(_given(step, "key"))
            case "scroll", None:
                await page.keyboard.press("PageDown")
            case "evaluate", _:
                return _plain(await page.evaluate(_given(step, "fn")))
            case "wait", _:
                await _wait(tab, step, timeout)
            case kind, None:
                raise InvalidRequest(f"steps: {kind} needs ref")
            case _, target:
                await self._on_element(call, tab, step, target, timeout)
        return ""

    async def _on_element(
        self, call: ToolCall, tab: Tab, step: Mapping[str, Any], target: Locator, timeout: float
    ) -> None:
        match step["kind"]:
            case "click":
                clicks = 2 if step.get("double") else 1
                await target.click(button=step.get("button", "left"), click_count=clicks, timeout=timeout)
            case "fill":
                await target.fill(_given(step, "text"), timeout=timeout)
                await _submit(tab, step)
            case "press":
                await target.press(_given(step, "key"), timeout=timeout)
            case "hover":
                await target.hover(timeout=timeout)
            case "scroll":
                await target.scroll_into_view_if_needed(timeout=timeout)
            case "drag":
                await target.drag_to(await tab.locator(_given(step, "to")), timeout=timeout)
            case "select":
                await target.select_option(_given(step, "values"), timeout=timeout)
            case "upload":
                files = await self._service.payloads(call, _given(step, "paths"))
                await _upload(tab, target, files)


def first_line(error: Exception) -> str:
    """Return the message of a failure, without the library's call log."""
    return (str(error).splitlines() or [type(error).__name__])[0][:500]


def _given(step: Mapping[str, Any], name: str) -> Any:
    if name not in step:
        raise InvalidRequest(f"steps: {step['kind']} needs {name}")
    return step[name]


async def _submit(tab: Tab, step: Mapping[str, Any]) -> None:
    if step.get("submit"):
        await tab.page.keyboard.press("Enter")


async def _upload(tab: Tab, target: Locator, files: list[FilePayload]) -> None:
    """Put files into a file input, or into the one that a button opens."""
    if await target.evaluate("e => e instanceof HTMLInputElement && e.type === 'file'"):
        await target.set_input_files(files)
        return
    async with tab.page.expect_file_chooser() as chooser:
        await target.click()
    await (await chooser.value).set_files(files)


async def _wait(tab: Tab, step: Mapping[str, Any], timeout: float) -> None:
    """Wait until all is so that a step names, or for the time it gives."""
    page = tab.page
    waits: list[Callable[[], Awaitable[Any]]] = []
    if "url" in step:
        waits.append(lambda: page.wait_for_url(step["url"], timeout=timeout, wait_until="commit"))
    if "state" in step:
        waits.append(lambda: page.wait_for_load_state(step["state"], timeout=timeout))
    if "selector" in step:
        waits.append(lambda: page.locator(step["selector"]).first.wait_for(timeout=timeout))
    if "text" in step:
        waits.append(lambda: page.get_by_text(step["text"]).first.wait_for(timeout=timeout))
    if "text_gone" in step:
        waits.append(lambda: page.get_by_text(step["text_gone"]).first.wait_for(state="hidden", timeout=timeout))
    if "fn" in step:
        waits.append(lambda: page.wait_for_function(step["fn"], timeout=timeout))
    if not waits:
        if "timeout_ms" not in step:
            raise InvalidRequest("steps: wait needs url, state, selector, text, text_gone, fn or timeout_ms")
        await page.wait_for_timeout(timeout)
    for each in waits:
        await each()


async def _settle(tab: Tab) -> None:
    """Give a page that went elsewhere a moment to get there."""
    from playwright.async_api import Error

    try:
        await tab.page.wait_for_load_state("domcontentloaded", timeout=SETTLE_LIMIT_MS)
    except Error:
        tab.notes.append("the page is still loading")


def _plain(value: Any) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        text = str(value)
    return f"result: {text[:EVALUATED_LIMIT]}"
