"""Pictures and films of cameras: by HTTP from a camera that behaves badly, and by the real ffmpeg from a stream."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.schema import Invalid, Schema
from hub.entities.services import EntityServices
from hub.host import IntegrationHost
from integrations.devices import ffmpeg, generic, mjpeg
from integrations.devices.camera_schema import FFMPEG, GENERIC, MJPEG
from tests.hub_fixture import HubFixture
from tests.integrations.devices.camera.camera_double import JPEG, CameraDouble
from tests.integrations.tools.standing import Standing

PLATFORMS = {"generic": generic, "mjpeg": mjpeg, "ffmpeg": ffmpeg}
DOOR = {"username": "door", "password": "pass word"}


@pytest.fixture
async def double() -> AsyncIterator[CameraDouble]:
    async with CameraDouble() as double:
        yield double


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Standing]:
    hub = Standing(tmp_path / "home")
    EntityServices(hub.entities, hub.targets, hub.services).register()
    yield hub
    await hub.end()
    await hub.egress.close()


async def with_camera(hub: Standing, **config: Any) -> Any:
    """Set a camera up, and return its entity."""
    with hub.home.configuration.open("a", encoding="utf-8") as file:
        file.write(f"camera: {json.dumps({'name': 'Door', **config})}\n")
    hub.config.load()
    parts: HubFixture = hub
    await PLATFORMS[config["platform"]].setup(IntegrationHost(config["platform"], hub.registrations, parts), {})
    return hub.entities.get("camera.door")


@pytest.mark.parametrize(
    ("platform", "key", "path", "more"),
    [
        ("generic", "still_image_url", "still", {}),
        ("generic", "still_image_url", "locked", DOOR),
        ("generic", "still_image_url", "digest", {**DOOR, "authentication": "digest"}),
        ("mjpeg", "mjpeg_url", "stream", {}),
        ("mjpeg", "mjpeg_url", "lies", {}),
        ("mjpeg", "mjpeg_url", "once", {}),
    ],
)
async def test_a_picture_is_taken_whole(
    hub: Standing, double: CameraDouble, platform: str, key: str, path: str, more: dict[str, str]
) -> None:
    entity = await with_camera(hub, platform=platform, **{key: f"{double.url}/{path}"}, **more)

    taken = await entity.picture()

    assert (taken.data, taken.mime_type) == (JPEG, "image/jpeg")


@pytest.mark.parametrize(
    ("platform", "key", "path", "why"),
    [
        ("generic", "still_image_url", "page", "no picture"),
        ("generic", "still_image_url", "locked", "refuses the name or the password"),
        ("generic", "still_image_url", "elsewhere", "answered 302"),
        ("mjpeg", "mjpeg_url", "broken", "no whole picture"),
        ("mjpeg", "mjpeg_url", "endless", "no whole picture"),
    ],
)
async def test_a_camera_that_gives_none_is_named_with_the_reason(
    hub: Standing, double: CameraDouble, platform: str, key: str, path: str, why: str
) -> None:
    entity = await with_camera(hub, platform=platform, **{key: f"{double.url}/{path}"})

    with pytest.raises(HubError, match=why) as raised:
        await entity.picture()

    assert "127.0.0.1" in raised.value.message


async def test_nothing_is_asked_of_a_camera_before_somebody_looks(hub: Standing, double: CameraDouble) -> None:
    await with_camera(hub, platform="generic", still_image_url=f"{double.url}/still")

    state = hub.states.get("camera.door")
    assert state is not None
    assert (state.state, state.attributes["entity_picture"]) == ("idle", "/api/camera_proxy/camera.door")
    assert not double.asked


async def call(hub: Standing, service: str, **data: Any) -> None:
    domain, _, name = service.partition(".")
    data = {"entity_id": "camera.door", **data}
    await hub.services.call(domain, name, data, context=Context(SYSTEM))


@pytest.mark.parametrize(
    ("filename", "lies"),
    [
        ("door.jpg", "media/door.jpg"),
        ("snapshots/a/door.jpg", "media/snapshots/a/door.jpg"),
        ("/config/www/door.jpg", "www/door.jpg"),
        ("/media/door.jpg", "media/door.jpg"),
    ],
)
async def test_a_snapshot_is_kept_in_the_folders_for_it(
    hub: Standing, double: CameraDouble, filename: str, lies: str
) -> None:
    await with_camera(hub, platform="generic", still_image_url=f"{double.url}/still")

    await call(hub, "camera.snapshot", filename=filename)

    assert (hub.home.path / lies).read_bytes() == JPEG


@pytest.mark.parametrize("filename", ["/etc/cron.d/door", "~/door.jpg", "../configuration.yaml", "media/../../x", ""])
async def test_a_snapshot_goes_nowhere_else(hub: Standing, double: CameraDouble, filename: str) -> None:
    await with_camera(hub, platform="generic", still_image_url=f"{double.url}/still")
    before = sorted(hub.home.path.rglob("*.jpg"))

    with pytest.raises(HubError):
        await call(hub, "camera.snapshot", filename=filename)

    assert sorted(hub.home.path.rglob("*.jpg")) == before


async def test_what_cannot_be_done_says_why(hub: Standing, double: CameraDouble) -> None:
    await with_camera(hub, platform="generic", still_image_url=f"{double.url}/still")

    with pytest.raises(InvalidRequest, match="no stream that could be recorded"):
        await call(hub, "camera.record", filename="door.mp4")
    with pytest.raises(InvalidRequest, match="play_stream is not done here"):
        await call(hub, "camera.play_stream", media_player="media_player.tv")


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film of a test picture, a second long, as a transport stream."""
    path = tmp_path_factory.mktemp("film") / "test.ts"
    made = ("ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=10:duration=1")
    subprocess.run([*made, "-c:v", "libx264", "-pix_fmt", "yuv420p", str(path)], check=True)
    return path


@pytest.fixture
async def streaming(film: Path) -> AsyncIterator[str]:
    """A server that streams the film to each who asks."""

    data = film.read_bytes()  # noqa: ASYNC240

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nConnection: close\r\n\r\n" + data)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/live"
    server.close()


async def test_ffmpeg_takes_a_picture_and_a_film_of_a_stream(hub: Standing, streaming: str) -> None:
    entity = await with_camera(hub, platform="ffmpeg", input=streaming)

    taken = await entity.picture()
    await call(hub, "camera.record", filename="door.mp4", duration=1)

    assert taken.data.startswith(b"\xff\xd8\xff")
    film = (hub.home.path / "media/door.mp4").read_bytes()
    assert film[4:8] == b"ftyp"


async def test_a_stream_may_not_have_ffmpeg_read_the_files_of_this_machine(hub: Standing, tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        lines = f"#EXTM3U\n#EXTINF:1,\nfile://{tmp_path}/secret.ts\n#EXT-X-ENDLIST\n"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(lines)}\r\n\r\n{lines}".encode())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/live.m3u8"
    entity = await with_camera(hub, platform="ffmpeg", input=url)

    with pytest.raises(Unavailable, match=r"could not read 127\.0\.0\.1"):
        await entity.picture()

    server.close()


async def test_the_password_of_a_stream_is_in_no_error(hub: Standing) -> None:
    entity = await with_camera(hub, platform="generic", stream_source="rtsp://127.0.0.1:9/live", **DOOR)

    with pytest.raises(Unavailable, match=r"could not read 127\.0\.0\.1") as raised:
        await entity.picture()

    assert "pass" not in raised.value.message.replace("password", "")


async def test_without_ffmpeg_its_installation_is_named(hub: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    entity = await with_camera(hub, platform="generic", stream_source="rtsp://127.0.0.1:9/live")

    with pytest.raises(Unavailable, match="apt install ffmpeg"):
        await entity.picture()


@pytest.mark.parametrize(
    ("schema", "config", "told"),
    [
        (GENERIC, {}, "missing: still_image_url or stream_source"),
        (GENERIC, {"stream_source": "file:///etc/passwd"}, "begins with rtsp://"),
        (FFMPEG, {"input": "/etc/passwd"}, "begins with rtsp://"),
        (FFMPEG, {"input": "concat:/etc/passwd"}, "begins with rtsp://"),
        (MJPEG, {"mjpeg_url": "http://c/", "input": "/dev/video0"}, "extra keys not allowed"),
        (MJPEG, {"mjpeg_url": "http://c/", "username": "a"}, "both username and password"),
    ],
)
def test_a_wrong_configuration_says_what_was_expected(schema: Schema, config: dict[str, str], told: str) -> None:
    with pytest.raises(Invalid, match=told):
        schema(config)
