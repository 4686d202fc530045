"""`integration.list|info|install|reload|enable|disable|remove`: the integrations, with the state of each."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from hub.core.errors import Conflict, Forbidden, InvalidRequest
from hub.core.schema import All, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, Method, MethodCall
from hub.extensions.custom_integrations import WAITING, CustomIntegrations, IntegrationLook
from hub.integration.control import IntegrationControl

OWNER = "gateway"
TEXTS_LIMIT_BYTES = 2_000_000
_ORIGIN_KEYS = ("kind", "source", "commit")
_DOMAIN = {Required("domain", description="The integration."): All(string, Length(min=1, max=64))}
_ONE = Schema(_DOMAIN)

_INSTALL_PACKAGES = "Install the packages it needs, whatever hub: install says."
_RELOAD = Schema({**_DOMAIN, Optional("install", default=False, description=_INSTALL_PACKAGES): boolean})
_INFO = Schema({**_DOMAIN, Optional("text", default=False, description="With the text of its files."): boolean})
_ENABLE = Schema(
    {
        **_DOMAIN,
        Optional("digest", description="Of what was looked at, from integration.info."): All(string, Length(max=64)),
        Optional("accept", default=False, description="Enable it in spite of what the scan found."): boolean,
    }
)
_INSTALL = Schema(
    {
        Optional("archive", description="A ZIP file or a tar file packed by gzip, in base64."): string,
        Optional("url", description="Of such a file."): All(string, Length(min=1, max=8_192)),
        Optional("path", description="The folder, when it holds several."): All(string, Length(max=500)),
        Optional("replace", default=False): boolean,
        Optional("domain", description="The only name that it may have."): All(string, Length(min=1, max=64)),
        Optional("origin", default=dict, description="Where the archive came from."): dict,
    }
)


class IntegrationMethods:
    """The methods about integrations.

    Args:
        control: Lists and changes them.
        custom: Those from elsewhere: installs, shows, enables and removes them.
    """

    def __init__(self, control: IntegrationControl, custom: CustomIntegrations) -> None:
        self._control = control
        self._custom = custom

    def methods(self) -> list[Method]:
        """Return the methods."""
        frame = LARGE_FRAME_BYTES
        return [
            Method("integration.list", self._list, OWNER, Schema({}), READ),
            Method("integration.info", self._info, OWNER, _INFO, ADMIN),
            Method("integration.install", self._install, OWNER, _INSTALL, ADMIN, acts=True, frame_limit=frame),
            Method("integration.reload", self._reload, OWNER, _RELOAD, ADMIN, acts=True),
            Method("integration.enable", self._enable, OWNER, _ENABLE, ADMIN, acts=True),
            Method("integration.disable", self._disable, OWNER, _ONE, ADMIN, acts=True),
            Method("integration.remove", self._remove, OWNER, _ONE, ADMIN, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"integrations": self._control.list(), "waiting": await self._custom.waiting()}

    async def _info(self, call: MethodCall) -> Mapping[str, Any]:
        return _shown(await self._custom.look(call.params["domain"]), text=call.params["text"])

    async def _install(self, call: MethodCall) -> Mapping[str, Any]:
        given = call.params
        if ("archive" in given) == ("url" in given):
            raise InvalidRequest("integration.install takes one of archive and url")
        options = {"path": given.get("path"), "overwrite": given["replace"], "domain": given.get("domain")}
        if "url" in given:
            domain = await self._custom.install_url(given["url"], **options)
        else:
            try:
                data = base64.b64decode(given["archive"], validate=True)
            except (binascii.Error, ValueError) as error:
                raise InvalidRequest(f"archive is not base64: {error}") from error
            origin = {key: str(given["origin"][key])[:1_000] for key in _ORIGIN_KEYS if key in given["origin"]}
            domain = await self._custom.install(data, origin or {"kind": "zip"}, **options)
        return _shown(await self._custom.look(domain))

    async def _reload(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._control.reload(call.params["domain"], install=call.params["install"])

    async def _enable(self, call: MethodCall) -> Mapping[str, Any]:
        domain, digest = call.params["domain"], call.params.get("digest")
        if digest is None:
            if domain in await self._custom.waiting():
                raise InvalidRequest(f"look at {domain} first: enabling it needs the digest from integration.info")
            return await self._control.enable(domain)
        if not call.context.authority.owner:
            raise Forbidden("an integration is code that runs in the hub: only an owner of this home enables one")
        await self._custom.enable(domain, digest, accept=call.params["accept"])
        await self._control.take_in(domain)
        return await self._control.enable(domain)

    async def _disable(self, call: MethodCall) -> Mapping[str, Any]:
        return await self._control.disable(call.params["domain"])

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        domain = call.params["domain"]
        if domain not in await self._custom.waiting() and self._control.is_in_use(domain):
            told = f"{domain} is in use: take it out of the configuration, or disable it, then remove it"
            raise Conflict(told)
        which = await self._custom.remove(domain)
        if which != WAITING:
            await self._control.forget(domain)
        return {"ok": True, "domain": domain, "which": which}


def _shown(look: IntegrationLook, *, text: bool = False) -> dict[str, Any]:
    manifest, code = look.manifest, look.code
    texts: dict[str, str] = {}
    if text:
        left = TEXTS_LIMIT_BYTES
        for path in sorted(look.files):
            left -= len(look.files[path])
            if left > 0 and b"\0" not in look.files[path]:
                texts[path] = look.files[path].decode("utf-8", "replace")
    return {
        "domain": manifest.domain,
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "documentation": manifest.documentation,
        "kind": manifest.kind,
        "default": manifest.default,
        "brings": {
            key: list(getattr(manifest, key))
            for key in ("channels", "triggers", "conditions", "actions", "model_apis", "cli", "doctor")
            if getattr(manifest, key)
        },
        "state": look.state,
        "digest": look.digest,
        "origin": dict(look.pin.origin),
        "enabledAtMs": look.pin.at_ms,
        "files": [{"path": path, "bytes": len(look.files[path])} for path in sorted(look.files)],
        "differs": list(look.differs),
        "requirements": dict(look.requirements),
        "imports": list(code.imports),
        "reaches": {kind: list(places) for kind, places in code.reaches.items()},
        "findings": [
            {"severity": each.severity.value, "message": each.message, "path": each.path, "line": each.line}
            for each in code.findings
        ],
        "text": texts,
    }
