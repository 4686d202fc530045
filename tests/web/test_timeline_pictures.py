"""What cameras saw is in the timeline, small in the list and at its step; nothing but pictures and films is served."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import expect

from tests.e2e.homes import add_integration
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium, is_ready
from tests.web.conftest import CONFIGURATION, sign_in
from tests.web.looks import DESKTOP, PHONE, faults
from tests.web.plain_browser import plain_browser

CAMERAS = """
from hub.entities.description import EntityDescription
from hub.entities.pictures import Picture

PICTURE, FILM = (open(f"{__path__[0]}/{name}", "rb").read() for name in ("seen.png", "seen.mp4"))


async def setup(host, config):
    def camera(name, data, kind):
        async def take():
            return Picture(data, kind)

        async def film(seconds):
            return Picture(FILM, "video/mp4")

        made = host.entities.add(EntityDescription("camera", name, name, picture=take, film=film), {})
        made.set("idle")

    camera("Door", PICTURE, "image/png")
    camera("Liar", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/svg+xml")
"""
AUTOMATIONS = """\
- id: rings
  alias: Somebody rings
  triggers: [{trigger: event, event_type: bell}]
  actions:
    - action: camera.snapshot
      target: {entity_id: camera.door}
      data: {filename: "door/{{ trigger.event.data.name }}"}
- id: films
  alias: Somebody is in the garden
  triggers: [{trigger: event, event_type: film}]
  actions:
    - {action: camera.record, target: {entity_id: camera.door}, data: {filename: www/garden.mp4, duration: 2}}
- id: lies
  alias: Somebody lies
  triggers: [{trigger: event, event_type: lie}]
  actions:
    - {action: camera.snapshot, target: {entity_id: camera.liar}, data: {filename: liar.png}}
"""
SCENE = ("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=640x360:rate=5:duration=2")


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home: Path = tmp_path_factory.mktemp("seen") / "home"
    home.mkdir(mode=0o700)
    given = CONFIGURATION.format(base_url=model_server.base_url)
    (home / "configuration.yaml").write_text(given + "cameras:\nautomation: !include a.yaml\n")
    (home / "a.yaml").write_text(AUTOMATIONS)
    add_integration(home, "cameras", CAMERAS)
    folder = home / "custom_integrations" / "cameras"
    subprocess.run([*SCENE, "-frames:v", "1", folder / "seen.png"], check=True)
    subprocess.run([*SCENE, "-pix_fmt", "yuv420p", folder / "seen.mp4"], check=True)
    with HubProcess(home) as hub:
        yield hub


def seen(hub: HubProcess, suffix: str) -> bytes:
    """What the camera sees."""
    return (hub.home / "custom_integrations" / "cameras" / f"seen.{suffix}").read_bytes()


async def happened(hub: HubProcess, event: str, **data: Any) -> dict[str, Any]:
    """Fire an event; return the row of what it set off, once it is over."""
    before = {each["id"] for each in hub.rpc("timeline.list", {})["happenings"]}
    hub.rpc("event.fire", {"type": event, "data": data})

    def over() -> list[dict[str, Any]]:
        found = hub.rpc("timeline.list", {})["happenings"]
        return [each for each in found if each["id"] not in before and each["outcome"] not in ("running", "waiting")]

    return (await until(over))[0]


async def got(hub: HubProcess, path: str, headers: dict[str, str] | None = None) -> tuple[int, str, bytes, Any]:
    asked = {"Authorization": f"Bearer {hub.token}", **(headers or {})}
    async with aiohttp.ClientSession() as client, client.get(hub.url + path, headers=asked) as answer:
        return answer.status, answer.content_type, await answer.read(), answer.headers


async def test_a_snapshot_is_shown_in_the_list_and_at_the_step_that_took_it(hub: HubProcess) -> None:
    row = await happened(hub, "bell", name="one.png")
    path = f"/timeline/{row['id']}"

    async with plain_browser(hub) as browser:
        await browser.goto("/timeline")
        small = browser.page.select(f"[id='h-{row['id']}'] img.shot")
        told = browser.text(f"[id='h-{row['id']}']")
        await browser.goto(path)
        at_step = browser.page.select(".steps img.shot")
    status, kind, data, headers = await got(hub, f"{path}/picture/0")

    assert "Event “bell”" in told
    assert [each["src"] for each in small] == [each["src"] for each in at_step] == [f"{path}/picture/0"]
    assert (status, kind, data) == (200, "image/png", seen(hub, "png"))
    assert headers["X-Content-Type-Options"] == "nosniff"


async def test_a_film_is_played_from_any_place(hub: HubProcess) -> None:
    row = await happened(hub, "film")
    path, film = f"/timeline/{row['id']}", seen(hub, "mp4")

    async with plain_browser(hub) as browser:
        await browser.goto(path)
        [shown] = browser.page.select(".steps video[controls]")
    whole = await got(hub, str(shown["src"]))
    part = await got(hub, str(shown["src"]), {"Range": "bytes=10-19"})
    beyond = await got(hub, str(shown["src"]), {"Range": f"bytes={len(film)}-"})

    assert whole[:3] == (200, "video/mp4", film)
    assert part[:3] == (206, "video/mp4", film[10:20])
    assert part[3]["Content-Range"] == f"bytes 10-19/{len(film)}"
    assert beyond[0] == 416


async def test_an_agent_that_looked_shows_what_it_saw_in_the_conversation(
    hub: HubProcess, model_server: OpenAIServer
) -> None:
    model_server.reset()
    model_server.queue({"tool_call": {"name": "home", "arguments": {"do": "look", "name": "door"}}}, "A parcel.")
    key = "agent:main:webchat:direct:look"
    run = hub.rpc("chat.send", {"message": "Who is there?", "sessionKey": key, "idempotencyKey": "look"})["runId"]
    [asked] = await until(lambda: hub.rpc("approval.list")["approvals"])
    hub.rpc("approval.resolve", {"id": asked["id"], "kind": "exec", "decision": "allow-once"})
    hub.rpc("agent.wait", {"runId": run})

    async with plain_browser(hub) as browser:
        await browser.goto(f"/timeline/run.{run}")
        [shown] = browser.page.select(".steps .tool img.shot")
    status, kind, data, _ = await got(hub, str(shown["src"]))

    assert (status, kind, data) == (200, "image/png", seen(hub, "png"))


async def test_what_is_no_picture_is_not_served_whatever_it_is_called(hub: HubProcess) -> None:
    row = await happened(hub, "lie")

    assert (hub.home / "media" / "liar.png").read_bytes().startswith(b"<svg")
    assert (await got(hub, f"/timeline/{row['id']}/picture/0"))[0] == 404


async def test_a_file_that_was_written_again_is_no_longer_what_was_seen(hub: HubProcess) -> None:
    row = await happened(hub, "bell", name="two.png")
    path = f"/timeline/{row['id']}/picture/0"
    before = await got(hub, path)
    kept = hub.home / "media" / "door" / "two.png"
    kept.write_bytes(kept.read_bytes())
    later = kept.stat().st_mtime_ns + 10_000_000_000
    os.utime(kept, ns=(later, later))

    async with plain_browser(hub) as browser:
        await browser.goto(f"/timeline/{row['id']}")
        shown = browser.page.select("img.shot")

    assert before[0] == 200
    assert (await got(hub, path))[0] == 404
    assert shown == []


@pytest.mark.parametrize(
    "path", ["picture/1", "picture/-1", "picture/99999", "picture/..%2f..%2fsecrets.yaml", "picture/0%00", "picture/x"]
)
async def test_an_address_names_a_number_and_nothing_else(hub: HubProcess, path: str) -> None:
    row = await happened(hub, "bell", name="three.png")

    assert (await got(hub, f"/timeline/{row['id']}/{path}"))[0] == 404


async def test_nobody_sees_a_picture_without_signing_in(hub: HubProcess) -> None:
    row = await happened(hub, "bell", name="four.png")

    async with aiohttp.ClientSession() as client:
        answer = await client.get(f"{hub.url}/timeline/{row['id']}/picture/0", allow_redirects=False)

    assert answer.status in (302, 303, 401)
    assert b"PNG" not in await answer.read()


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
@pytest.mark.asyncio(loop_scope="session")
async def test_a_picture_opens_large(hub: HubProcess, chromium: Chromium, viewport: Any) -> None:
    row = await happened(hub, "bell", name="five.png")
    context = await sign_in(chromium, hub, viewport=viewport, has_touch=viewport == PHONE)
    page = await context.new_page()
    await page.goto(f"/timeline/{row['id']}")
    await is_ready(page)
    small = page.locator(".steps img.shot")
    await expect(small).to_have_js_property("complete", True)
    assert await small.evaluate("each => each.naturalWidth") > 0
    assert await faults(page) == []

    await small.click()

    await expect(page).to_have_url(re.compile(r"/picture/0$"))
