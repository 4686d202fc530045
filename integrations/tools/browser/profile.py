"""A profile of the browser: started on first use, stopped when idle, with its tabs and who may act in it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.core.clock import Clock
from hub.core.errors import Conflict, Forbidden, HubError, LimitExceeded, NotFound, Unavailable
from hub.sandbox.sandboxes import Sandboxes
from hub.security.egress import Egress, EgressRefused
from hub.security.egress_place import parse_url
from integrations.tools.browser.chromium import attach, connect, judge_requests, start_managed
from integrations.tools.browser.schema import ATTACH, MANAGED, PRIVATE, SANDBOX, TAB
from integrations.tools.browser.socks_proxy import PolicyProxy
from integrations.tools.browser.tab import OnDownload, Tab

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Playwright

    from integrations.tools.browser.cdp_socket import CdpSocket, FarEnd
    from integrations.tools.browser.handed_tab import HandedTab

IDLE_S = 600.0
TAKE_OVER_S = 600.0
"""How long a person who took over keeps the browser without doing anything in it."""
TABS_LIMIT = 20
ACT_LIMIT_MS = 10_000.0
LOAD_LIMIT_MS = 30_000.0


class BrowserProfile:
    """One browser with its own cookies.

    Args:
        name: The name as configured.
        settings: The settings as configured: mode, cdp_url, network, agent.
        folder: Its user-data directory, when it is managed.
        program: executable and headless, as configured.
        egress: Judges where it may go.
        clock: Measures how long it was idle.
        keep: Stores a tab's downloads.
        sandboxes: Make its sandbox, when its mode is sandbox.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any],
        folder: Path,
        *,
        program: Mapping[str, Any],
        egress: Egress,
        clock: Clock,
        keep: OnDownload,
        sandboxes: Sandboxes,
    ) -> None:
        self.name, self.settings = name, settings
        self.tabs: dict[str, Tab] = {}
        self._folder, self._program, self._egress, self._clock = folder, program, egress, clock
        self._keep = keep
        self._sandboxes = sandboxes
        self.attached: FarEnd | None = None
        """The Chrome or tab that somebody has attached and that is not in use yet, for a profile that waits for one."""
        self.handed: HandedTab | None = None
        """The tab that is handed over, whether in use or not, for mode tab."""
        self._socket: CdpSocket | None = None
        self._proxy: PolicyProxy | None = None
        self.devices: Mapping[str, Any] = {}
        """What Playwright knows of devices, by name."""
        self._context: BrowserContext | None = None
        self._chosen: dict[str, str] = {}
        self._tab_numbers, self._element_numbers = itertools.count(1), itertools.count(1)
        self._shown = ""
        self._used_s = 0.0
        self._person: tuple[str, float] | None = None

    @property
    def is_boxed(self) -> bool:
        """Whether it runs in a sandbox."""
        return bool(self.settings["mode"] == SANDBOX)

    @property
    def is_tab(self) -> bool:
        """Whether it is one tab that somebody hands over."""
        return bool(self.settings["mode"] == TAB)

    @property
    def waits(self) -> bool:
        """Whether somebody attaches a Chrome to it, or hands over a tab."""
        return self.is_tab or (self.settings["mode"] == ATTACH and "cdp_url" not in self.settings)

    @property
    def is_attached(self) -> bool:
        """Whether somebody has attached a Chrome or handed over a tab, for a profile that waits for one."""
        return self.waits and (self.attached is not None or self.handed is not None or self.running)

    def uses(self, far: FarEnd) -> bool:
        """Whether it uses what somebody has attached."""
        return self._socket is not None and self._socket.far is far

    @property
    def running(self) -> bool:
        """Whether its browser is started."""
        return self._context is not None

    @property
    def private(self) -> bool:
        """Whether it reaches the named private targets alone."""
        return bool(self.settings["network"] == PRIVATE)

    @property
    def idle(self) -> bool:
        """Whether it was not used for long, and nobody has taken over."""
        return self.running and self.person is None and self._clock.monotonic() - self._used_s >= IDLE_S

    @property
    def context(self) -> BrowserContext:
        """Playwright's."""
        if self._context is None:
            raise Conflict(f"the browser profile {self.name} is not running")
        return self._context

    async def start(self, playwright: Callable[[], Coroutine[Any, Any, Playwright]]) -> None:
        """Start it unless it runs.

        Raises:
            Unavailable: It does not start.
        """
        self.touch()
        if self._context is not None:
            return
        library = await playwright()
        if self._proxy is not None:  # of a browser that ended by itself
            await self._proxy.stop()
        if self.settings["mode"] == MANAGED:
            self._proxy = PolicyProxy(self._egress, private=self.private)
            await self._proxy.start()
            try:
                context = await start_managed(library, self._folder, self._proxy.port, **self._program)
            except BaseException:
                await self._proxy.stop()
                raise
        elif self.is_boxed:
            context = await self._by_socket(library)
        else:
            by_port = "cdp_url" in self.settings
            context = await (attach(library, self.settings["cdp_url"]) if by_port else self._by_socket(library))
            await judge_requests(context, self._egress, private=self.private)
        self._context, self.devices = context, library.devices
        context.set_default_timeout(ACT_LIMIT_MS)
        context.set_default_navigation_timeout(LOAD_LIMIT_MS)
        context.on("page", self._popped_up)
        context.on("close", self._ended)
        for page in context.pages:
            self._opened(page)

    async def _by_socket(self, library: Playwright) -> BrowserContext:
        """Connect to a browser that listens nowhere: in a sandbox, or attached by somebody."""
        from integrations.tools.browser.boxed import BoxedChromium  # these load an HTTP library
        from integrations.tools.browser.cdp_socket import CdpSocket

        if self._socket is not None:
            await self._socket.close()
        far, folder, self.attached = self.attached, None, None
        if self.is_boxed:
            agent_id = self.settings["agent"]
            sandbox, folder = await self._sandboxes.for_browser(agent_id, self.name, private=self.private)
            far = await BoxedChromium.start(sandbox, self._program["executable"])
        if far is None and self.is_tab:
            raise Unavailable(
                f"no tab is handed over to the profile {self.name}: press the button of the Homarus extension in "
                "the tab (`homarus browser extension install` says how to get it)"
            )
        if far is None:
            raise Unavailable(
                f"no Chrome is attached to the profile {self.name}: run `homarus browser attach --profile {self.name}` "
                "where it runs"
            )
        self._socket = socket = CdpSocket(far)
        try:
            url, headers = await socket.open()
            return await connect(library, url, headers, folder)
        except BaseException as error:
            if (why := await socket.close()) and isinstance(error, Unavailable):
                raise Unavailable(why) from error
            raise

    async def stop(self) -> None:
        """Stop it; an attached Chrome continues without us. Not while it starts."""
        context, proxy = self._context, self._proxy
        self._closed()
        self._proxy = None
        if context is not None:
            from playwright.async_api import Error

            with contextlib.suppress(Error):
                if self.settings["mode"] == MANAGED:
                    await context.close()
                elif context.browser is not None:
                    await context.browser.close()
        if proxy is not None:
            await proxy.stop()
        if self._socket is not None:
            await self._socket.close()

    def touch(self) -> None:
        """Note that it is in use."""
        self._used_s = self._clock.monotonic()

    # --- tabs ---

    def tab(self, session: str, id: str | None = None) -> Tab:
        """Return a tab: the named one, else the one that this conversation works in, or that was handed over.

        Raises:
            NotFound: It does not exist.
        """
        wanted = id or self._chosen.get(session) or next(iter(self.tabs if self.is_tab else ()), None)
        found = self.tabs.get(wanted) if wanted else None
        if found is None:
            there = ", ".join(self.tabs) or "none"
            raise NotFound(f"there is no tab {id or 'of this conversation'}; open one, or name one of: {there}")
        return found

    def has_tab(self, session: str) -> bool:
        """Whether a conversation works in a tab."""
        return session in self._chosen

    def choose(self, session: str, tab: Tab) -> None:
        """Let a conversation work in a tab."""
        self._chosen[session] = self._shown = tab.id

    @property
    def visible_tab(self) -> Tab | None:
        """The tab that was used last, which people see; None when there is none."""
        return self.tabs.get(self._shown) or next(reversed(list(self.tabs.values())), None)

    async def open(self, session: str) -> Tab:
        """Open a tab for a conversation; the empty one that a browser starts with is used first.

        Of a tab that was handed over there is no other: it is used by whoever asks.

        Raises:
            LimitExceeded: There are too many.
        """
        free = next(
            (tab for tab in self.tabs.values() if self.is_tab or self._is_free(tab)),
            None,
        )
        if free is None:
            if len(self.tabs) >= TABS_LIMIT:
                raise LimitExceeded(f"{TABS_LIMIT} tabs are open; close one first")
            page = await self.context.new_page()
            self._opened(page)
            free = next(tab for tab in self.tabs.values() if tab.page is page)
        self.choose(session, free)
        return free

    def _is_free(self, tab: Tab) -> bool:
        return tab.url == "about:blank" and tab.id not in self._chosen.values()

    @contextlib.contextmanager
    def opening(self, session: str) -> Iterator[None]:
        """On a refused address, return a conversation to its former tab; the empty one is reused."""
        before, shown = self._chosen.get(session), self._shown
        try:
            yield
        except HubError:
            self._chosen.pop(session, None)
            if before is not None:
                self._chosen[session] = before
            self._shown = shown
            raise

    async def go(self, tab: Tab, url: str) -> int | None:
        """Navigate a tab to an address; return the status of the answer.

        Raises:
            InvalidRequest: It is not an address of the web.
            EgressRefused: Its host may not be called.
        """
        target = parse_url(url)
        host = f"[{target.host}]" if ":" in str(target.host) else str(target.host)
        try:
            await self._egress.check(f"{host}:{target.port}", private=self.private)
        except EgressRefused as error:
            if self.private or "allow_private" not in error.message:
                raise
            raise Forbidden(f"{error.message}, and opens it in a browser profile that has network: private") from error
        except (OSError, TimeoutError) as error:
            raise Unavailable(f"{target.host} was not found: {error}") from error
        from playwright.async_api import Error

        try:
            answer = await tab.page.goto(url, wait_until="domcontentloaded")
        except Error as error:
            if "Download is starting" not in str(error):
                raise
            return None
        return answer.status if answer is not None else None

    def refusal(self, failure: str) -> str | None:
        """Return why the proxy refused a page, when that is why it failed."""
        if self._proxy is None or "ERR_SOCKS" not in failure or not self._proxy.refused:
            return None
        return list(self._proxy.refused.values())[-1]

    # --- the person ---

    @property
    def person(self) -> str | None:
        """The person who has taken over, if one has."""
        if self._person is not None and self._clock.monotonic() - self._person[1] >= TAKE_OVER_S:
            self._person = None
        return self._person[0] if self._person is not None else None

    def take_over(self, who: str) -> None:
        """Let a person work in it alone; again with everything they do."""
        self._person = (who, self._clock.monotonic())
        self.touch()

    def give_back(self) -> None:
        """Let the agents work in it again."""
        self._person = None

    def refuse_while_taken(self) -> None:
        """Refuse an agent's act while a person works in it.

        Raises:
            Conflict: A person works in it.
        """
        if (who := self.person) is not None:
            raise Conflict(
                f"{who} has taken over the browser and works in it now; nothing was done. "
                "Wait until they give it back, then take a new snapshot"
            )

    async def _popped_up(self, page: Page) -> None:
        """Take a tab that a page or a person opened; too many are closed."""
        if len(self.tabs) >= TABS_LIMIT:
            await page.close()
        else:
            self._opened(page)

    def _opened(self, page: Page) -> None:
        if any(tab.page is page for tab in self.tabs.values()):
            return
        tab = Tab(f"t{next(self._tab_numbers)}", page, lambda: next(self._element_numbers), self._keep)
        self.tabs[tab.id] = tab
        page.on("close", lambda _: self._gone(tab))

    def _gone(self, tab: Tab) -> None:
        self.tabs.pop(tab.id, None)
        for session in [session for session, id in self._chosen.items() if id == tab.id]:
            del self._chosen[session]

    def _ended(self, context: BrowserContext) -> None:
        if context is self._context:  # else it has another by now
            self._closed()

    def _closed(self) -> None:
        self._context = None
        self._person = None
        for each in (self.tabs, self._chosen):
            each.clear()
