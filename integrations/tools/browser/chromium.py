"""Starts a Chromium whose only way out is the proxy, and connects to a Chrome that runs already."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from hub.core.errors import HubError, Unavailable
from hub.core.executors import FILES
from hub.core.light_packages import load_package
from hub.security.egress import Egress

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Playwright, Route, WebSocketRoute

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chromium-headless-shell")
INSTALL = (
    "install it (apt-get install chromium, or: playwright install chromium) or name it in browser: executable: in the "
    "configuration"
)
VERSION_LIMIT_BYTES = 65_536
VIEWPORT = {"width": 1280, "height": 800}
START_LIMIT_MS = 60_000.0
ATTACH_LIMIT_S = 10.0
_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
CLOSED = (
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # Chrome's
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # content shell's
    "--disable-features=WebTransport,DialMediaRouteProvider,MediaRouter,GlobalMediaControls",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-pings",
    "--no-first-run",
)
"""No UDP, no look-up and no talk of the browser's own beside the proxy."""


def find_executable(configured: str | None) -> str | None:
    """Return the Chromium to start, or None when there is none; the one that Playwright installed comes last."""
    if configured is not None:
        return shutil.which(configured)
    return next((found for name in NAMES if (found := shutil.which(name))), None)


async def start_managed(
    playwright: Playwright, folder: Path, port: int, *, executable: str | None, headless: bool
) -> BrowserContext:
    """Start a Chromium with its own user-data directory.

    Args:
        folder: The user-data directory.
        port: The port of the proxy.
        executable: The executable as configured.

    Raises:
        Unavailable: There is no Chromium, or it does not start.
    """
    from playwright.async_api import Error

    path = find_executable(executable)
    if path is None and executable is None:
        path = shutil.which(playwright.chromium.executable_path)
    if path is None:
        raise Unavailable(f"there is no Chromium{f' at {executable}' if executable else ''}: {INSTALL}")
    await FILES.run(folder.mkdir, 0o700, parents=True, exist_ok=True)
    try:
        return await playwright.chromium.launch_persistent_context(
            folder,
            executable_path=path,
            headless=headless,
            chromium_sandbox=os.geteuid() != 0,  # Chromium has no sandbox of its own for root
            args=list(CLOSED),
            proxy={"server": f"socks5://127.0.0.1:{port}", "bypass": "<-loopback>"},
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            viewport=VIEWPORT,  # type: ignore[arg-type]  # a plain dict of two numbers
            accept_downloads=True,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=START_LIMIT_MS,
        )
    except Error as error:
        raise Unavailable(f"{path} did not start: {error.message.splitlines()[0]}") from error


async def attach(playwright: Playwright, cdp_url: str) -> BrowserContext:
    """Connect to a Chrome that runs, by its debugging port.

    Raises:
        Unavailable: It does not answer, or names another place than its own for its socket.
    """
    try:
        return await connect(playwright, await endpoint(cdp_url))
    except (HubError, OSError, ValueError, msgspec.DecodeError) as error:
        why = str(error) or type(error).__name__
        raise Unavailable(
            f"no Chrome answers at {cdp_url}: {why}. Start it with --remote-debugging-port and a --user-data-dir"
        ) from error


async def connect(
    playwright: Playwright, url: str, headers: Mapping[str, str] = {}, folder: Path | None = None
) -> BrowserContext:
    """Connect to a browser by its socket.

    Args:
        folder: The directory for downloads, if it is on this machine.

    Raises:
        Unavailable: It does not answer.
    """
    from playwright.async_api import Error

    try:
        browser = await playwright.chromium.connect_over_cdp(
            url,
            headers={**headers},
            timeout=START_LIMIT_MS,
            artifacts_dir=folder,
            is_local=folder is not None,
        )
        return browser.contexts[0] if browser.contexts else await browser.new_context()
    except Error as error:
        raise Unavailable(error.message.splitlines()[0]) from error


async def judge_requests(context: BrowserContext, egress: Egress, *, private: bool) -> None:
    """Judge each request of a browser whose network is its own before it leaves the page."""

    async def judged(url: str) -> bool:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "ws", "wss"):
            return parts.scheme in ("data", "blob", "about", "chrome-extension")
        port = parts.port or (443 if parts.scheme in ("https", "wss") else 80)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        try:
            await egress.check(f"{host}:{port}", private=private)
        except (HubError, OSError, TimeoutError):
            return False
        return True

    async def request(route: Route) -> None:
        await (route.continue_() if await judged(route.request.url) else route.abort("blockedbyclient"))

    async def web_socket(route: WebSocketRoute) -> None:
        if await judged(route.url):
            route.connect_to_server()
        else:
            await route.close()

    await context.route("**/*", request)
    await context.route_web_socket("**/*", web_socket)


async def endpoint(cdp_url: str) -> str:
    """Return the address of the browser's socket; never one on another host than the configured."""
    parts = urlsplit(cdp_url)
    if parts.scheme in ("ws", "wss"):
        return cdp_url
    await load_package("aiohttp")
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=ATTACH_LIMIT_S)
    async with (
        aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
        session.get(f"{parts.scheme}://{parts.netloc}/json/version", allow_redirects=False) as answer,
    ):
        told: Mapping[str, Any] = msgspec.json.decode(await answer.content.read(VERSION_LIMIT_BYTES))
    found = urlsplit(str(told["webSocketDebuggerUrl"]))
    if found.netloc != parts.netloc:
        raise ValueError(f"it names a socket at {found.netloc}")
    return found.geturl()
