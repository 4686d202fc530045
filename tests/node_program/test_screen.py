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

from node.backends.linux import LinuxBackend

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


def stream_of(film: Path) -> Any:
    probe = ("ffprobe", "-v", "error", "-show_streams", "-of", "json", str(film))
    (stream,) = json.loads(subprocess.run(probe, capture_output=True, check=True).stdout)["streams"]
    return stream
