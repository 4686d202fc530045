"""Each platform's commands, over small programs that answer as the real ones were recorded."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.backends import backend_here
from node.backends.contract import Backend
from node.backends.linux import LinuxBackend
from node.backends.macos import MacBackend
from node.backends.termux import TermuxBackend
from node.errors import NodeError
from node.pictures import picture

JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4z"
    "NDL/wAALCAACAAMBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAB//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVf/Z"
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAAAAAC4HznGAAAADElEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts programs on PATH: each appends its arguments and input to a log, and prints what it is given."""
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    (tmp_path / "picture.jpg").write_bytes(JPEG)
    (tmp_path / "picture.png").write_bytes(PNG)

    def install_programs(**programs: str) -> Path:
        for name, prints in programs.items():
            path = folder / name.replace("_", "-")
            lines = [
                "#!/bin/sh",
                f'for each in "{path.name}" "$@"; do printf "%s|" "$each" >> {log}; done',
                f"printf '\\n' >> {log}",
                prints.replace("PICTURE", str(tmp_path / "picture")),
            ]
            path.write_text("\n".join(lines))
            path.chmod(0o755)
        return log

    return install_programs


async def call(backend: Backend, command: str, **params: Any) -> Any:
    return await {each.command: each.handler for each in backend.offers()}[command](params)


def works(backend: Backend) -> set[str]:
    return {each.command for each in backend.offers() if each.works}


LAST = 'for last in "$@"; do :; done; '


async def test_a_mac_uses_its_own_programs(install: Install) -> None:
    log = install(
        osascript="",
        screencapture=LAST + 'cp PICTURE.jpg "$last"',
        imagesnap='case $1 in -l) printf "Video Devices:\\n=> FaceTime HD Camera\\n";; *) '
        + LAST
        + 'cp PICTURE.jpg "$last";; esac',
        CoreLocationCLI='echo \'{"latitude":"52.5","longitude":"13.4","h_accuracy":"35.0","altitude":"40"}\'',
        pbpaste="printf copied",
        pmset="printf ' -InternalBattery-0 (id=1)\\t87%%; discharging; 3:10 remaining\\n'",
        say="cat > /dev/null",
    )
    mac = MacBackend()

    assert (await call(mac, "screen.snapshot", screenIndex=1))["width"] == 3
    assert await call(mac, "camera.list") == {"devices": [{"id": "FaceTime HD Camera", "name": "FaceTime HD Camera"}]}
    photo = await call(mac, "camera.snap", deviceId="FaceTime HD Camera")
    assert (photo["format"], photo["width"], photo["height"]) == ("jpg", 3, 2)
    place = await call(mac, "location.get")
    assert (place["lat"], place["lon"], place["accuracyMeters"]) == (52.5, 13.4, 35.0)
    assert await call(mac, "clipboard.read") == {"text": "copied"}
    assert (await call(mac, "device.status"))["battery"] == {"level": 0.87, "state": "discharging"}
    await call(mac, "system.say", text="-v evil")
    await call(mac, "system.notify", title='" & do shell script "id', body="--hello")
    said = log.read_text()
    assert "screencapture|-x|-t|jpg|-D|2|" in said
    assert "say|-f|-|\n" in said
    assert said.endswith('end run|--|" & do shell script "id|--hello|\n')


async def test_a_film_of_the_screen_is_made_by_what_the_desktop_has(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = LAST + 'printf film > "$last"'
    log = install(ffmpeg=film, wf_recorder=film, screencapture=film)
    asked = {"durationMs": 2_500, "fps": 5}
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(NodeError, match="neither WAYLAND_DISPLAY nor DISPLAY"):
        await call(LinuxBackend(), "screen.record", **asked)
    monkeypatch.setenv("DISPLAY", ":7")

    x11 = await call(LinuxBackend(), "screen.record", **asked)
    with pytest.raises(NodeError, match="screenIndex"):
        await call(LinuxBackend(), "screen.record", screenIndex=1)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    wayland = await call(LinuxBackend(), "screen.record", screenIndex=1, **asked)
    mac = await call(MacBackend(), "screen.record", screenIndex=1, **asked)

    told = {"base64": base64.b64encode(b"film").decode(), "durationMs": 2_500, "fps": 5, "hasAudio": False}
    assert x11 == {"format": "mp4", "screenIndex": 0, **told}
    assert wayland == {"format": "mp4", "screenIndex": 1, **told}
    assert mac == {"format": "mov", "screenIndex": 1, **told}
    said = log.read_text()
    assert "|-framerate|5|-i|:7|-t|2.5|" in said
    assert "wf-recorder|-r|5|-f|" in said
    assert "screencapture|-x|-v|-V|2|-D|2|" in said


@pytest.mark.parametrize(
    ("makes", "code"),
    [
        ("true", "UNAVAILABLE"),
        ("exit 1", "UNAVAILABLE"),
        (LAST + 'head -c 13000000 /dev/zero > "$last"', "PAYLOAD_TOO_LARGE"),
    ],
)
async def test_a_film_that_is_none_or_too_large_is_said(
    install: Install, monkeypatch: pytest.MonkeyPatch, makes: str, code: str
) -> None:
    install(ffmpeg=makes)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":7")

    with pytest.raises(NodeError) as refused:
        await call(LinuxBackend(), "screen.record", durationMs=250)

    assert refused.value.code == code


async def test_a_phone_uses_termux(install: Install, tmp_path: Path) -> None:
    log = install(
        termux_notification=f"cat >> {tmp_path / 'body'}",
        termux_camera_info='echo \'[{"id":"0","facing":"back"},{"id":"1","facing":"front"}]\'',
        termux_camera_photo=LAST + 'cp PICTURE.jpg "$last"',
        termux_location='echo \'{"latitude":52.5,"longitude":13.4,"accuracy":12.0,"provider":"gps"}\'',
        termux_battery_status='echo \'{"percentage":55,"status":"CHARGING"}\'',
    )
    phone = TermuxBackend()

    assert [each["position"] for each in (await call(phone, "camera.list"))["devices"]] == ["back", "front"]
    assert (await call(phone, "camera.snap", facing="front"))["base64"] == base64.b64encode(JPEG).decode()
    place = await call(phone, "location.get", desiredAccuracy="precise")
    assert (place["lat"], place["accuracyMeters"], place["source"]) == (52.5, 12.0, "gps")
    await call(phone, "system.notify", title="-c evil", body="-t hello")
    assert (await call(phone, "device.status"))["battery"] == {"level": 0.55, "state": "charging"}
    said = log.read_text()
    assert "termux-camera-photo|-c|1|" in said
    assert "termux-location|-p|gps|-r|once|" in said
    assert "|--title=-c evil|" in said
    assert (tmp_path / "body").read_text() == "-t hello"
    assert "clipboard.read" not in works(phone)


async def test_a_phone_that_may_not_know_its_place_says_so(install: Install) -> None:
    install(
        termux_location='echo \'{"error": "no permission"}\'', termux_camera_photo="", termux_camera_info="echo '[]'"
    )
    phone = TermuxBackend()

    for command, code in (("location.get", "LOCATION_PERMISSION_REQUIRED"), ("camera.snap", "CAMERA_UNAVAILABLE")):
        with pytest.raises(NodeError) as refused:
            await call(phone, command)
        assert refused.value.code == code


async def test_linux_uses_the_programs_of_its_desktop(install: Install, tmp_path: Path) -> None:
    log = install(
        notify_send="",
        scrot=LAST + 'cp PICTURE.png "$last"',
        xclip=f'case "$*" in *-o) printf copied;; *) cat > {tmp_path / "clip"};; esac',
        gpspipe='printf \'{"class":"VERSION"}\\nnoise\\n{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":8.0}\\n\'',
        spd_say=f"cat > {tmp_path / 'spoken'}",  # the first that is looked for; others may be installed
    )
    linux = LinuxBackend()

    shot = await call(linux, "screen.snapshot")
    assert (shot["format"], shot["width"], shot["height"]) == ("png", 3, 2)
    await call(linux, "clipboard.write", text="hello")
    assert (tmp_path / "clip").read_text() == "hello"
    assert await call(linux, "clipboard.read") == {"text": "copied"}
    assert (await call(linux, "location.get"))["accuracyMeters"] == 8.0
    await call(linux, "system.say", text="good morning")
    assert (tmp_path / "spoken").read_text() == "good morning"
    await call(linux, "system.notify", title="--help", body="x", priority="timeSensitive")
    assert "notify-send|--app-name=Homarus|--urgency=critical|--|--help|x|" in log.read_text()


async def test_linux_as_it_is_here_says_what_it_is(install: Install) -> None:
    here = backend_here()

    info, status = await call(here, "device.info"), await call(here, "device.status")

    assert isinstance(here, LinuxBackend)
    assert info["systemName"] == "Linux"
    assert status["storage"]["totalBytes"] > status["storage"]["freeBytes"] > 0
    assert isinstance((await call(here, "camera.list"))["devices"], list)


async def test_what_is_not_installed_is_not_offered_and_says_how_to_get_it(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    linux = LinuxBackend()

    assert works(linux) == {"device.info", "device.status", "camera.list"}
    with pytest.raises(NodeError, match=r"needs gnome-screenshot or .*install gnome-screenshot"):
        await call(linux, "screen.snapshot")


async def test_a_program_that_fails_is_named(install: Install) -> None:
    install(scrot='echo "Can\'t open display" >&2; exit 2', notify_send="exit 1")

    with pytest.raises(NodeError, match="scrot failed: Can't open display"):
        await call(LinuxBackend(), "screen.snapshot")


@pytest.mark.parametrize("data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xe0\x00\x00" * 9, b"\x89PNG", b"GIF89a" + b"x" * 99])
def test_what_is_no_picture_is_not_sent_as_one(data: bytes) -> None:
    with pytest.raises(NodeError, match="did not make a picture"):
        picture(data)
