"""`device.pair.*` and `device.token.*`: devices with their own keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.errors import Forbidden, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import PAIRING, Method, MethodCall
from hub.gateway.access.auth import Authenticator
from hub.gateway.access.device_grants import Grant
from hub.gateway.access.devices import ROLES, Devices

OWNER = "gateway"

_DEVICE_ID = All(str, Length(min=1, max=128))
_REQUEST = Schema({Required("requestId"): All(str, Length(min=1, max=64))})


class DeviceMethods:
    """The methods about devices.

    Args:
        devices: The devices.
        authenticator: Knows the credentials of a caller.
        connected: Returns the ids of the devices that are connected.
    """

    def __init__(self, devices: Devices, authenticator: Authenticator, connected: Callable[[], set[str]] = set) -> None:
        self._devices = devices
        self._authenticator = authenticator
        self._connected = connected

    def methods(self) -> list[Method]:
        """Return the methods."""
        remove = Schema({Required("deviceId"): _DEVICE_ID, Optional("role"): In(list(ROLES))})
        token = Schema({Required("deviceId"): _DEVICE_ID, Optional("role", default="operator"): In(list(ROLES))})
        rename = Schema({Required("deviceId"): _DEVICE_ID, Required("label"): All(string, Length(min=1, max=64))})
        return [
            Method("device.pair.list", self._list, OWNER, Schema({}), PAIRING),
            Method("device.pair.approve", self._approve, OWNER, _REQUEST, PAIRING, acts=True),
            Method("device.pair.reject", self._reject, OWNER, _REQUEST, PAIRING, acts=True),
            Method("device.pair.remove", self._remove, OWNER, remove, PAIRING, acts=True),
            Method("device.pair.rename", self._rename, OWNER, rename, PAIRING, acts=True),
            Method("device.token.rotate", self._rotate, OWNER, token, PAIRING),
            Method("device.token.revoke", self._revoke, OWNER, token, PAIRING, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {
            "pending": [request.as_dict() for request in self._devices.pending()],
            "paired": self._devices.list_paired(self._connected()),
        }

    async def _approve(self, call: MethodCall) -> Mapping[str, Any]:
        made_by = self._authenticator.links(call.caller)
        grant = await self._devices.approve(call.params["requestId"], call.caller.authority, made_by)
        return {
            "requestId": call.params["requestId"],
            "device": self._devices.list_paired(self._connected(), grant.device_id)[0],
        }

    async def _reject(self, call: MethodCall) -> Mapping[str, Any]:
        request = await self._devices.reject(call.params["requestId"])
        return {"requestId": request.id, "deviceId": request.device_id}

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        device, role = call.params["deviceId"], call.params.get("role")
        for each in ROLES if role is None else (role,):
            self._judge(call, device, each)
        if not await self._devices.remove(device, role):
            raise NotFound(phrase("there is no paired device {device}", device=device[:80]))
        return {"deviceId": device}

    async def _rename(self, call: MethodCall) -> Mapping[str, Any]:
        device, label = call.params["deviceId"], call.params["label"]
        for role in ROLES:
            self._judge(call, device, role)
        if not await self._devices.rename(device, label):
            raise NotFound(phrase("there is no paired device {device}", device=device[:80]))
        return {"deviceId": device, "label": label}

    async def _rotate(self, call: MethodCall) -> Mapping[str, Any]:
        device, role = call.params["deviceId"], call.params["role"]
        self._judge(call, device, role)
        grant = await self._devices.rotate(device, role)
        own = call.caller.authority.principal == f"device:{device}"
        # Only the device itself is shown its new token; it is given to it anyway when it next connects with its key.
        shown = {"tokenDelivery": "withheld-cross-device"}
        if own:
            shown = {"token": self._devices.token(grant), "tokenDelivery": "in-band"}
        at_ms = self._devices.now_ms()
        return {"deviceId": device, "role": role, "scopes": list(grant.scopes), "rotatedAtMs": at_ms, **shown}

    async def _revoke(self, call: MethodCall) -> Mapping[str, Any]:
        device, role = call.params["deviceId"], call.params["role"]
        self._judge(call, device, role)
        if not await self._devices.remove(device, role):
            raise NotFound(
                phrase("there is no paired device {device} in the role {role}", device=device[:80], role=role)
            )
        return {"deviceId": device, "role": role}

    def _judge(self, call: MethodCall, device: str, role: str) -> None:
        """Refuse to change a device that has more rights than the caller."""
        grant: Grant | None = self._devices.grant(device, role)
        if grant is not None and not set(grant.scopes) <= call.caller.authority.scopes:
            raise Forbidden(phrase("this device has more rights than you, so you cannot change it"))
