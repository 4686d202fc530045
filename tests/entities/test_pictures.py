"""Pictures of entities over HTTP: for those who may read, and for whoever has an address that was signed for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from hub.core.clock import ManualClock
from hub.entities.media_files import MediaFiles
from hub.entities.picture_routes import picture_routes
from hub.entities.pictures import Picture
from tests.entities.home_of_entities import TestHome
from tests.gateway.rig import Rig, running

PATH = "/api/camera_proxy/camera.door"
PNG = b"\x89PNG\r\n\x1a\n and more"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    home = TestHome(tmp_path)
    await home.registry.open()

    async def png() -> Picture:
        return Picture(PNG, "image/png")

    async def drawing() -> Picture:
        return Picture(b"<svg onload=alert(1)>", "image/svg+xml")

    home.add("camera", "Door", picture=png)
    home.add("image", "Drawing", picture=drawing)
    home.add("camera", "Blind")
    files = MediaFiles(tmp_path)
    await files.write("www/card.png", PNG)
    async with running(tmp_path / "gateway", clock=ManualClock(1_000_000.0)) as rig:
        for route in picture_routes(home.entities, files):
            rig.gateway.routes.add(route)
        yield rig
    await home.registry.close()
    await home.tasks.cancel_all()


async def answer(rig: Rig, path: str, *, is_owner: bool = False) -> tuple[int, str, bytes]:
    headers = {"Authorization": f"Bearer {rig.token}"} if is_owner else {}
    async with aiohttp.ClientSession() as session, session.get(rig.url + path, headers=headers) as response:
        return response.status, response.content_type, await response.read()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PATH, (200, "image/png", PNG)),
        ("/api/image_proxy/image.drawing", (200, "application/octet-stream", b"<svg onload=alert(1)>")),
        ("/local/card.png", (200, "image/png", PNG)),
    ],
)
async def test_pictures_are_served_and_never_as_pages(rig: Rig, path: str, expected: tuple[int, str, bytes]) -> None:
    assert await answer(rig, path, is_owner=True) == expected


@pytest.mark.parametrize(
    "path",
    [
        "/api/camera_proxy/camera.blind",
        "/api/camera_proxy/image.drawing",
        "/api/camera_proxy/camera.none",
        "/local/../configuration.yaml",
        "/media/local/none.png",
    ],
)
async def test_there_is_no_other_picture(rig: Rig, path: str) -> None:
    assert (await answer(rig, path, is_owner=True))[0] == 404


async def test_a_signed_address_opens_its_path_until_it_ends(rig: Rig) -> None:
    signed = rig.gateway.signed_paths.sign(PATH, 60)

    assert (await answer(rig, signed))[0] == 200
    assert isinstance(rig.clock, ManualClock)
    rig.clock.jump(61)
    assert (await answer(rig, signed))[0] == 401


@pytest.mark.parametrize("change", [lambda path: "", lambda path: "?authSig=", lambda path: "?authSig=9999999999.0"])
async def test_without_a_right_signature_it_stays_shut(rig: Rig, change: object) -> None:
    assert callable(change)
    assert (await answer(rig, PATH + change(PATH)))[0] == 401


async def test_a_signature_is_good_for_its_own_path_alone(rig: Rig) -> None:
    signed = rig.gateway.signed_paths.sign("/local/card.png", 60)

    assert (await answer(rig, PATH + "?" + signed.partition("?")[2]))[0] == 401
