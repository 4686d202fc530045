"""`integration.list|reload|enable|disable`: the integrations, with the state of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.integration.control import IntegrationControl

OWNER = "gateway"
_DOMAIN = {Required("domain", description="The integration."): All(string, Length(min=1, max=64))}
_ONE = Schema(_DOMAIN)

_INSTALL = "Install the packages it needs, whatever hub: install says."
_RELOAD = Schema({**_DOMAIN, Optional("install", default=False, description=_INSTALL): boolean})


class IntegrationMethods:
    """The methods about integrations.

    Args:
        control: Lists and changes them.
    """

    def __init__(self, control: IntegrationControl) -> None:
        self._control = control

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("integration.list", self._list, OWNER, Schema({}), READ),
            Method("integration.reload", self._reload, OWNER, _RELOAD, ADMIN, acts=True),
            Method("integration.enable", self._enable, OWNER, _ONE, ADMIN, acts=True),
            Method("integration.disable", self._disable, OWNER, _ONE, ADMIN, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"integrations": self._control.list()}

    async def _reload(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._control.reload(call.params["domain"], install=call.params["install"])

    async def _enable(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._control.enable(call.params["domain"])

    async def _disable(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._control.disable(call.params["domain"])
