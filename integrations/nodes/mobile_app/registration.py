"""A registered program: its description of itself, and the rights it acts with. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hub.core.context import Authority
from hub.core.schema import REMOVE_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import Caller

_TEXT = All(str, Length(max=256))
_SAID = AnyOf(None, _TEXT)

REGISTER = Schema(
    {
        Optional("device_id"): _SAID,
        Required("app_id"): _TEXT,
        Required("app_name"): _TEXT,
        Required("app_version"): _TEXT,
        Required("device_name"): All(str, Length(min=1, max=128)),
        Required("manufacturer"): _TEXT,
        Required("model"): _TEXT,
        Optional("os_name"): _SAID,
        Optional("os_version"): _SAID,
        Optional("supports_encryption", default=False): boolean,
        Optional("app_data"): AnyOf(None, dict),
    },
    extra=REMOVE_EXTRA,
)
UPDATE = Schema(
    {
        Optional("app_version"): _TEXT,
        Optional("device_name"): All(str, Length(min=1, max=128)),
        Optional("manufacturer"): _TEXT,
        Optional("model"): _TEXT,
        Optional("os_version"): _SAID,
        Optional("app_data"): AnyOf(None, dict),
    },
    extra=REMOVE_EXTRA,
)
SHOWN = ("app_id", "app_name", "app_version", "device_name", "manufacturer", "model", "os_name", "os_version")


class MobileApp(Struct, frozen=True):
    """A registration.

    Attributes:
        id: Names it to people; its address is a secret.
        webhook_id: The secret end of its address.
        said: Its description of itself.
        principal, person, scopes: The rights of the credential that registered it.
        links: The credentials that those rights depend on.
        secret: Hex key of the encryption; empty while there is none.
        sensors: By unique id, its registered sensors.
    """

    id: str
    webhook_id: str
    said: dict[str, Any]
    principal: str
    person: str | None
    scopes: tuple[str, ...]
    links: tuple[str, ...]
    secret: str = ""
    sensors: dict[str, dict[str, Any]] = {}

    @property
    def is_notified(self) -> bool:
        """Whether it can be sent notifications: over its WebSocket, or through a relay."""
        data = self.said.get("app_data") or {}
        return bool(data.get("push_websocket_channel") or data.get("push_url"))

    @property
    def name(self) -> str:
        """People's name for its device."""
        return str(self.said["device_name"])

    def caller(self, address: str) -> Caller:
        """Return it as a caller of methods: never the owner, and its words are from outside."""
        authority = Authority(self.principal, self.person, frozenset(self.scopes), tainted=True)
        return Caller(authority, f"mobile_app:{self.id}", address, local=False, came_from=frozenset(self.links))
