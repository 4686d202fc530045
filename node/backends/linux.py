"""Linux: a desktop's own programs, a camera by Video4Linux, a place by gpsd."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import NodeError
from ..parameters import number, text
from ..programs import output_of
from .browser_window import BrowserWindow
from .contract import (
    SPEECH_LIMIT_S,
    Answer,
    Offer,
    Recording,
    film_command,
    input_command,
    output_command,
    picture_command,
    status_offers,
)

DEVICES = Path("/sys/class/video4linux")
POWER = Path("/sys/class/power_supply")
PLACE_LIMIT_S = 30

_WAYLAND_SCREEN, _X11_SCREEN = (
    ("grim", "gnome-screenshot", "spectacle"),
    ("gnome-screenshot", "spectacle", "scrot", "import"),
)
_CAMERA = ("ffmpeg", "fswebcam", "rpicam-still")
_COPY = {"wl-copy": ["wl-copy"], "xclip": ["xclip", "-selection", "clipboard"], "xsel": ["xsel", "-bi"]}
_PASTE = {
    "wl-paste": ["wl-paste", "--no-newline"],
    "xclip": ["xclip", "-selection", "clipboard", "-o"],
    "xsel": ["xsel", "-bo"],
}
_SAY = {"spd-say": ["spd-say", "--wait", "-e"], "espeak-ng": ["espeak-ng", "--stdin"], "espeak": ["espeak", "--stdin"]}


class LinuxBackend:
    """Linux with or without a desktop."""

    platform = "linux"
    family = "Linux"

    def __init__(self) -> None:
        self._window = BrowserWindow()

    def offers(self) -> list[Offer]:
        wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
        screens, recorders = (_WAYLAND_SCREEN, ("wf-recorder",)) if wayland else (_X11_SCREEN, ("ffmpeg",))
        return [
            *status_offers(self),
            *self._window.offers(),
            Offer("system.notify", self._notify, ("notify-send",), "install libnotify-bin"),
            Offer("screen.snapshot", self._screen, screens, f"install {screens[0]}"),
            Offer("screen.record", self._record, recorders, f"install {recorders[0]}"),
            Offer("camera.list", self._cameras),
            Offer("camera.snap", self._snap, _CAMERA, "install ffmpeg"),
            Offer("location.get", self._place, ("gpspipe",), "install gpsd-clients, with a GPS receiver"),
            Offer("clipboard.read", output_command(_PASTE), tuple(_PASTE), "install wl-clipboard or xclip"),
            Offer("clipboard.write", input_command(_COPY), tuple(_COPY), "install wl-clipboard or xclip"),
            Offer("system.say", input_command(_SAY, SPEECH_LIMIT_S), tuple(_SAY), "install espeak-ng"),
        ]

    async def battery(self) -> Answer | None:
        return await asyncio.to_thread(_battery)

    async def _notify(self, params: Mapping[str, Any], program: str) -> Answer:
        urgency = "critical" if params.get("priority") == "timeSensitive" else "normal"
        words = [text(params, "title", "Homarus", limit=200), text(params, "body", "", limit=2_000)]
        await output_of([program, "--app-name=Homarus", f"--urgency={urgency}", "--", *words])
        return {}

    async def _screen(self, params: Mapping[str, Any], program: str) -> Answer:
        options = {
            "grim": lambda path: ["grim", path],
            "gnome-screenshot": lambda path: ["gnome-screenshot", "-f", path],
            "spectacle": lambda path: ["spectacle", "-b", "-n", "-o", path],
            "scrot": lambda path: ["scrot", path],
            "import": lambda path: ["import", "-window", "root", path],
        }
        return await picture_command(options[program], ".png")

    async def _record(self, params: Mapping[str, Any], program: str) -> Answer:
        recording = Recording.of(params)
        seconds, fps = f"{recording.duration_s:g}", f"{recording.fps:g}"
        if program == "wf-recorder":  # it ends by a signal alone, and asks which screen when there are several
            limit = ["timeout", "--signal=INT", "--preserve-status", seconds]
            chosen = f"{recording.screen + 1}\n".encode()
            return await film_command(recording, lambda path: [*limit, program, "-r", fps, "-f", path], ".mp4", chosen)
        display = os.environ.get("DISPLAY")
        if not display:
            raise NodeError(
                "UNAVAILABLE", "this program has no screen: neither WAYLAND_DISPLAY nor DISPLAY is set for it"
            )
        if recording.screen:
            raise NodeError("INVALID_PARAMS", "screenIndex: X11 has one screen, 0, which all monitors are parts of")
        grab = [program, "-loglevel", "error", "-f", "x11grab", "-framerate", fps, "-i", display, "-t", seconds]
        # H.264 takes even sizes only, and players its usual colours.
        form = [
            "-r",
            fps,
            "-vf",
            "scale=trunc(iw/2)*2:trunc(ih/2)*2",
            "-pix_fmt",
            "yuv420p",
            "-movflags",
            "+faststart",
            "-y",
        ]
        return await film_command(recording, lambda path: [*grab, *form, path], ".mp4")

    async def _cameras(self, params: Mapping[str, Any]) -> Answer:
        return {"devices": await asyncio.to_thread(_cameras)}

    async def _snap(self, params: Mapping[str, Any], program: str) -> Answer:
        known = [each["id"] for each in (await self._cameras({}))["devices"]]
        device = text(params, "deviceId", known[0] if known else "", limit=100)
        if device not in known and program != "rpicam-still":
            raise NodeError(
                "CAMERA_UNAVAILABLE",
                f"there is no camera {device!r}; camera.list names those here"
                if device
                else "this machine has no camera",
            )
        width = int(number(params, "maxWidth", 1600, 16, 8_192))
        quality = number(params, "quality", 0.9, 0.05, 1)
        scale, step = f"scale='min({width},iw)':-2", str(round(31 - 29 * quality))
        options = {
            "ffmpeg": lambda path: [
                *("ffmpeg", "-loglevel", "error", "-f", "v4l2", "-i", device, "-frames:v", "1"),
                *("-vf", scale, "-q:v", step, "-y", path),
            ],
            "fswebcam": lambda path: ["fswebcam", "-q", "-d", device, "--jpeg", str(round(95 * quality)), path],
            "rpicam-still": lambda path: ["rpicam-still", "-n", "--width", str(width), "-o", path],
        }
        return await picture_command(options[program], ".jpg", delay_s=number(params, "delayMs", 0, 0, 10_000) / 1000)

    async def _place(self, params: Mapping[str, Any], program: str) -> Answer:
        limit_s = number(params, "timeoutMs", 20_000, 1_000, PLACE_LIMIT_S * 1_000) / 1_000
        # gpsd reports once a second; a fix is in one of the first reports or not at all.
        lines = await output_of([program, "-w", "-n", "10"], timeout_s=limit_s)
        for line in lines.splitlines():
            report = _json(line)
            if report.get("class") == "TPV" and isinstance(report.get("lat"), float) and report.get("mode", 0) >= 2:
                return _position(report)
        raise NodeError("LOCATION_UNAVAILABLE", "the GPS receiver has no fix")


def _battery() -> Answer | None:
    for supply in sorted(POWER.glob("BAT*")):
        try:
            level = int((supply / "capacity").read_text()) / 100
            return {"level": level, "state": (supply / "status").read_text().strip().lower()}
        except (OSError, ValueError):
            continue
    return None


def _cameras() -> list[Answer]:
    return [{"id": f"/dev/{each.name}", "name": _name(each)} for each in sorted(DEVICES.glob("video*"))]


def _name(device: Path) -> str:
    try:
        return (device / "name").read_text().strip()
    except OSError:
        return device.name


def _json(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _position(report: Mapping[str, Any]) -> Answer:
    optional = {"altitudeMeters": "alt", "speedMps": "speed", "headingDeg": "track", "timestamp": "time"}
    return {
        "lat": report["lat"],
        "lon": report["lon"],
        "accuracyMeters": report.get("eph", report.get("epx", 0)),
        **{name: report[key] for name, key in optional.items() if key in report},
        "isPrecise": True,
        "source": "gps",
    }
