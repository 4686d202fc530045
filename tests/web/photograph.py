"""Photographs pages of a furnished home, desk and phone, light and dark: `python -m tests.web.photograph / /chat`."""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from pathlib import Path

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.browser import Chromium, is_ready, launched
from tests.web.conftest import CONFIGURATION, sign_in
from tests.web.furnished_home import BLUEPRINT, furnish
from tests.web.looks import DESKTOP, PHONE

SIZES = {"desk": DESKTOP, "phone": PHONE}


async def photograph(hub: HubProcess, paths: list[str], folder: Path, language: str, whole: bool) -> None:
    """Write four pictures of each page: on a desk and on a phone, light and dark."""
    async with launched() as browser, Chromium(browser, hub.url) as profiles:
        for size, viewport in SIZES.items():
            on_a_phone = size == "phone"
            context = await sign_in(
                profiles, hub, viewport=viewport, locale=language, has_touch=on_a_phone, is_mobile=on_a_phone
            )
            page = await context.new_page()
            for path in paths:
                await page.goto(path)
                await is_ready(page)
                name = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "home"
                for scheme in ("light", "dark"):
                    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                    target = folder / f"{name}-{size}-{scheme}.png"
                    if whole:
                        height = await page.evaluate("document.querySelector('main').scrollHeight + 80")
                        await page.set_viewport_size({"width": viewport["width"], "height": max(height, 400)})
                    await page.screenshot(path=target)
                    await page.set_viewport_size(viewport)
                    print(target)
        for fault in profiles.unexpected():
            print(fault)


def main() -> None:
    """Start a hub, sign in, and photograph the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--to", type=Path, default=Path(tempfile.gettempdir()) / "pictures")
    parser.add_argument("--language", default="en-US")
    parser.add_argument("--whole", action="store_true", help="the whole page, not what fits the window")
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, OpenAIServer() as server:
        home = Path(folder) / "home"
        (home / "blueprints" / "automation").mkdir(parents=True)
        home.chmod(0o700)
        (home / "blueprints" / "automation" / "bell.yaml").write_text(BLUEPRINT)
        (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=server.base_url))
        furnish(home)
        with HubProcess(home) as hub:
            asyncio.run(photograph(hub, asked.paths, asked.to, asked.language, asked.whole))


if __name__ == "__main__":
    main()
