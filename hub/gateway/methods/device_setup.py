"""`device.pair.setupCode` and `setupStatus`: a code or QR code that lets one device in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, In, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.gateway.access.setup_codes import PROFILES, TAB_PROFILE, check_url, device_url, encode_code, is_open_wire
from hub.gateway.calls.settings import AuthMode
from hub.gateway.connection.server import Gateway

OWNER = "gateway"
FULL, LIMITED = "full", "limited"
QR_SCALE = 4

_CODE = Schema(
    {
        Optional("bootstrapProfile", default=FULL, description="What the device may do: node is not an operator."): In(
            list(PROFILES)
        ),
        Optional("publicUrl", description="The address by which the device reaches the hub."): All(
            string, Length(min=1, max=512)
        ),
        Optional("includeQr", default=True): boolean,
        Optional("preferRemoteUrl"): boolean,
        Optional("joinUrl"): boolean,
    }
)
_STATUS = Schema({Required("setupId"): All(string, Length(min=1, max=64))})


class SetupMethods:
    """The methods about setup codes.

    Args:
        gateway: Where devices connect.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def methods(self) -> list[Method]:
        """Return the methods that make and follow setup codes of phones."""
        return [
            Method("device.pair.setupCode", self._make, OWNER, _CODE, ADMIN),
            Method("device.pair.setupStatus", self._status, OWNER, _STATUS, ADMIN),
        ]

    async def _make(self, call: MethodCall) -> Mapping[str, Any]:
        gateway, codes, params = self._gateway, self._gateway.handshake.setup_codes, call.params
        given, profile = params.get("publicUrl"), params["bootstrapProfile"]
        if given:
            url = check_url(given)
        elif profile == TAB_PROFILE and gateway.settings.loopback:  # a browser of this machine
            url = gateway.url.replace("http", "ws", 1)
        else:
            url = device_url(gateway.settings, gateway.address[1])
        downgraded = profile == FULL and is_open_wire(url)
        made_by = gateway.authenticator.links(call.caller)
        code, token = codes.make(LIMITED if downgraded else profile, call.caller.authority, made_by)
        text = encode_code(url, token, code.expires_ms)
        answer: dict[str, Any] = {
            "setupId": code.id,
            "expiresAtMs": code.expires_ms,
            "setupCode": text,
            "gatewayUrl": url,
            "auth": "password" if gateway.settings.mode is AuthMode.PASSWORD else "token",
            "urlSource": "publicUrl" if given else "gateway",
            "access": code.profile,
        }
        if downgraded:
            answer["accessDowngraded"] = True
        if params["includeQr"]:
            import segno

            answer["qrDataUrl"] = segno.make(text, error="m").png_data_uri(scale=QR_SCALE)
        return answer

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        completion = self._gateway.handshake.setup_codes.completion(call.params["setupId"])
        return {} if completion is None else {"completion": completion}
