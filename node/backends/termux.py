"""Android with Termux and Termux:API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import NodeError
from ..parameters import number, text
from ..programs import output_of
from .contract import SPEECH_LIMIT_S, Answer, Offer, input_command, output_command, picture_command, status_offers

INSTALL = "install the app Termux:API from where Termux is from, then: pkg install termux-api"


class TermuxBackend:
    """A phone or tablet."""

    platform = "android"
    family = "Android"

    def offers(self) -> list[Offer]:
        return [
            *status_offers(self),
            Offer("system.notify", self._notify, ("termux-notification",), INSTALL),
            Offer("camera.list", self._cameras, ("termux-camera-info",), INSTALL),
            Offer("camera.snap", self._snap, ("termux-camera-photo",), INSTALL, "Camera, for Termux:API"),
            Offer("location.get", self._place, ("termux-location",), INSTALL, "Location, for Termux:API"),
            Offer("clipboard.read", output_command(), ("termux-clipboard-get",), INSTALL),
            Offer("clipboard.write", input_command(), ("termux-clipboard-set",), INSTALL),
            Offer("system.say", input_command(timeout_s=SPEECH_LIMIT_S), ("termux-tts-speak",), INSTALL),
        ]

    async def battery(self) -> Answer | None:
        try:
            said = await _asked("termux-battery-status")
            return {"level": int(said["percentage"]) / 100, "state": str(said["status"]).lower()}
        except (NodeError, LookupError, TypeError, ValueError):
            return None

    async def _notify(self, params: Mapping[str, Any], program: str) -> Answer:
        title, body = text(params, "title", "Homarus", limit=200), text(params, "body", "", limit=2_000)
        priority = "max" if params.get("priority") == "timeSensitive" else "default"
        # The text is read from the standard input: as an argument it could be taken for an option.
        argv = [program, "--priority", priority, f"--title={title}"]
        await output_of(argv, stdin=body.encode())
        return {}

    async def _cameras(self, params: Mapping[str, Any], program: str) -> Answer:
        found = await _asked(program)
        return {
            "devices": [
                {"id": str(each["id"]), "name": f"camera {each['id']}", "position": each.get("facing", "unknown")}
                for each in (found if isinstance(found, list) else [])
                if isinstance(each, dict) and "id" in each
            ]
        }

    async def _snap(self, params: Mapping[str, Any], program: str) -> Answer:
        cameras = (await self._cameras({}, "termux-camera-info"))["devices"]
        facing, wanted = text(params, "facing", "back", limit=20), text(params, "deviceId", "", limit=20)
        fitting = [each["id"] for each in cameras if wanted in ("", each["id"])]
        fitting.sort(key=lambda id: next(each["position"] for each in cameras if each["id"] == id) != facing)
        if not fitting:
            raise NodeError("CAMERA_UNAVAILABLE", f"there is no camera {wanted!r}; camera.list names those here")
        delay_s = number(params, "delayMs", 0, 0, 10_000) / 1000
        return await picture_command(lambda path: [program, "-c", fitting[0], path], ".jpg", delay_s=delay_s)

    async def _place(self, params: Mapping[str, Any], program: str) -> Answer:
        provider = "gps" if params.get("desiredAccuracy") == "precise" else "network"
        limit_s = number(params, "timeoutMs", 20_000, 1_000, 60_000) / 1_000
        said = await _asked(program, "-p", provider, "-r", "once", timeout_s=limit_s)
        if not isinstance(said, dict) or not isinstance(said.get("latitude"), float):
            raise NodeError(
                "LOCATION_PERMISSION_REQUIRED", "allow Termux:API to access this phone's location in its settings"
            )
        optional = {"accuracyMeters": "accuracy", "altitudeMeters": "altitude", "speedMps": "speed"}
        return {
            "lat": said["latitude"],
            "lon": said["longitude"],
            **{name: said[key] for name, key in optional.items() if key in said},
            "isPrecise": provider == "gps",
            "source": said.get("provider", provider),
        }


async def _asked(program: str, *options: str, timeout_s: float = 20) -> Any:
    """Return the JSON output of a program of Termux:API."""
    said = await output_of([program, *options], timeout_s=timeout_s)
    try:
        return json.loads(said)
    except ValueError as error:
        raise NodeError("UNAVAILABLE", f"{program} did not answer in JSON; {INSTALL}") from error
