"""A film of a real screen: an X server without a monitor, and ffmpeg."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from node.backends.browser_window import BROWSERS
from node.backends.linux import LinuxBackend
from node.errors import NodeError
from tests.until import until

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("Xvfb", "ffmpeg", "ffprobe"))),
    reason="needs Xvfb and ffmpeg: script/test --long installs them",
)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A screen of an odd size, as windows of virtual machines have."""
    read, write = os.pipe()
    options = ("-displayfd", str(write), "-screen", "0", "321x201x24", "-nolisten", "tcp")
    with subprocess.Popen(("Xvfb", *options), pass_fds=[write], stderr=subprocess.DEVNULL) as server:
        os.close(write)
        with os.fdopen(read) as told:
            monkeypatch.setenv("DISPLAY", f":{told.readline().strip()}")
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        yield
        server.terminate()


async def test_a_screen_is_filmed_for_as_long_as_is_asked(screen: None, tmp_path: Path) -> None:
    (record,) = [each for each in LinuxBackend().offers() if each.command == "screen.record"]

    answer = await record.handler({"durationMs": 1_000, "fps": 5})

    film = tmp_path / f"film.{answer['format']}"
    film.write_bytes(base64.b64decode(answer["base64"]))
    stream = stream_of(film)
    assert (stream["codec_name"], stream["width"], stream["height"]) == ("h264", 320, 200)
    assert (stream["r_frame_rate"], stream["nb_frames"]) == ("5/1", "5")


async def test_a_page_of_the_canvas_gets_a_window_that_is_closed_again(
    screen: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[web.BaseRequest] = []

    async def page(request: web.BaseRequest) -> web.Response:
        asked.append(request)
        return web.Response(text="<title>Soup</title>", content_type="text/html")

    chromium = next(found for name in BROWSERS if (found := shutil.which(name)))
    program = tmp_path / "bin" / "chromium"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {chromium} --no-sandbox --disable-gpu "$@"\n')  # a test may run as root
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    commands = {each.command: each.handler for each in LinuxBackend().offers()}
    async with RawTestServer(page) as server:
        url = str(server.make_url("/soup"))
        with pytest.raises(NodeError, match="url: expected"):
            await commands["canvas.present"]({"url": "file:///etc/passwd"})

        await commands["canvas.present"]({"url": url})
        await until(lambda: [each for each in asked if each.path == "/soup"])
        (profile,) = profiles(tmp_path)
        await commands["canvas.hide"]({})

    assert "Cookie" not in asked[0].headers
    assert not profile.exists()


def profiles(folder: Path) -> list[Path]:
    return list(folder.glob("homarus-canvas-*"))


def stream_of(film: Path) -> Any:
    probe = ("ffprobe", "-v", "error", "-show_streams", "-of", "json", str(film))
    (stream,) = json.loads(subprocess.run(probe, capture_output=True, check=True).stdout)["streams"]
    return stream
