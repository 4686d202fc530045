"""macOS: its own programs, and `imagesnap` and `CoreLocationCLI` from Homebrew."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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

# Titles and texts are arguments of the script, never a part of it.
_NOTIFY = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
_SAY = {"say": ["say", "-f", "-"]}
_IMAGESNAP = "brew install imagesnap"
_LOCATION = "brew install corelocationcli"
_PRIVACY = "System Settings → Privacy & Security → {}, for the program that runs Python"
_SCREEN_GRANT, _CAMERA_GRANT, _LOCATION_GRANT = (
    _PRIVACY.format(each) for each in ("Screen & System Audio Recording", "Camera", "Location Services")
)


class MacBackend:
    """A Mac. What macOS asks its user to permit is granted to the program that runs Python."""

    platform = "macos"
    family = "Mac"

    def __init__(self) -> None:
        self._window = BrowserWindow()

    def offers(self) -> list[Offer]:
        return [
            *status_offers(self),
            *self._window.offers(),
            Offer("system.notify", self._notify, ("osascript",)),
            Offer("screen.snapshot", self._screen, ("screencapture",), permission=_SCREEN_GRANT),
            Offer("screen.record", self._record, ("screencapture",), permission=_SCREEN_GRANT),
            Offer("camera.list", self._cameras, ("imagesnap",), _IMAGESNAP),
            Offer("camera.snap", self._snap, ("imagesnap",), _IMAGESNAP, _CAMERA_GRANT),
            Offer("location.get", self._place, ("CoreLocationCLI",), _LOCATION, _LOCATION_GRANT),
            Offer("clipboard.read", output_command(), ("pbpaste",)),
            Offer("clipboard.write", input_command(), ("pbcopy",)),
            Offer("system.say", input_command(_SAY, SPEECH_LIMIT_S), ("say",)),
        ]

    async def battery(self) -> Answer | None:
        try:
            said = (await output_of(["pmset", "-g", "batt"])).decode(errors="replace")
        except NodeError:
            return None
        found = re.search(r"(\d+)%; ([a-z ]+)", said)
        return {"level": int(found[1]) / 100, "state": found[2].strip()} if found else None

    async def _notify(self, params: Mapping[str, Any], program: str) -> Answer:
        words = (text(params, "title", "Homarus", limit=200), text(params, "body", "", limit=2_000))
        script = [part for line in _NOTIFY for part in ("-e", line)]
        await output_of([program, *script, "--", *words])
        return {}

    async def _screen(self, params: Mapping[str, Any], program: str) -> Answer:
        display = int(number(params, "screenIndex", 0, 0, 15)) + 1
        return await picture_command(lambda path: [program, "-x", "-t", "jpg", "-D", str(display), path], ".jpg")

    async def _record(self, params: Mapping[str, Any], program: str) -> Answer:
        recording = Recording.of(params)
        words = [program, "-x", "-v", "-V", f"{max(1, round(recording.duration_s))}", "-D", f"{recording.screen + 1}"]
        return await film_command(recording, lambda path: [*words, path], ".mov")

    async def _cameras(self, params: Mapping[str, Any], program: str) -> Answer:
        said = (await output_of([program, "-l"])).decode(errors="replace")
        names = [line.strip().removeprefix("=> ").strip() for line in said.splitlines() if line.startswith("=>")]
        return {"devices": [{"id": name, "name": name} for name in names]}

    async def _snap(self, params: Mapping[str, Any], program: str) -> Answer:
        known = [each["id"] for each in (await self._cameras({}, program))["devices"]]
        device = text(params, "deviceId", "", limit=200)
        if not known or (device and device not in known):
            raise NodeError("CAMERA_UNAVAILABLE", f"there is no camera {device!r}; camera.list names those here")
        warm_s = 1.5 + number(params, "delayMs", 0, 0, 10_000) / 1000
        chosen = ["-d", device] if device else []
        return await picture_command(lambda path: [program, "-q", "-w", f"{warm_s:g}", *chosen, path], ".jpg")

    async def _place(self, params: Mapping[str, Any], program: str) -> Answer:
        limit_s = number(params, "timeoutMs", 20_000, 1_000, 60_000) / 1_000
        try:
            said = json.loads(await output_of([program, "--json"], timeout_s=limit_s))
            found = {name: float(said[name]) for name in ("latitude", "longitude", "h_accuracy", "altitude")}
        except (ValueError, LookupError, TypeError) as error:
            raise NodeError("LOCATION_UNAVAILABLE", "CoreLocationCLI returned no location") from error
        return {
            "lat": found["latitude"],
            "lon": found["longitude"],
            "accuracyMeters": found["h_accuracy"],
            "altitudeMeters": found["altitude"],
            "timestamp": str(said.get("time", "")),
            "isPrecise": True,
            "source": "corelocation",
        }
