"""The gateway's HTTP request."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from aiohttp.helpers import ChainMapProxy


class GatewayRequest(web.Request):
    """A request that belongs to the gateway's application, although our route table resolves it and no aiohttp router.

    Libraries for aiohttp find their own data in the application: `request.app`, `request.config_dict`.
    """

    ATTRS = web.Request.ATTRS | {"_app"}

    def __init__(self, app: web.Application, *parts: Any) -> None:
        super().__init__(*parts)
        self._app = app

    @property
    def app(self) -> web.Application:
        """The gateway's application."""
        return self._app

    @property
    def config_dict(self) -> ChainMapProxy:
        """The keys of the application's storage."""
        return ChainMapProxy([self._app])
