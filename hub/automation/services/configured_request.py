"""Requests that the configuration describes: those of `rest_command:`, and those of `rest:`, which reads sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.secret import Secret
from hub.security.egress import ConfiguredTarget, Egress, Fetched, parse_url
from hub.template.contract import is_template
from hub.template.engine import TemplateEngine

BODY_LIMIT_BYTES = 1_000_000


async def send_request(
    egress: Egress, templates: TemplateEngine, given: Mapping[str, Any], seen: Mapping[str, Any]
) -> Fetched:
    """Send a request and return its answer, after its redirects.

    A host that the configuration names itself, and no template does, may be in the home's network.

    Args:
        given: What `request_fields` made of it, with `url`.
        seen: The variables of its templates.

    Raises:
        TemplateFailed: A template cannot be rendered.
        InvalidRequest, EgressRefused, EgressFailed, TimedOut: As `Egress.fetch`.
    """

    async def text(value: Any) -> str:
        if isinstance(value, Secret):
            value = value.reveal()
        return str(await templates.render_async(value, seen, parse_result=False)) if is_template(value) else str(value)

    url = await text(given["url"])
    if given.get("params"):
        params = {name: await text(each) for name, each in given["params"].items()}
        url = str(parse_url(url).extend_query(params))
    headers = {name: await text(each) for name, each in given["headers"].items()}
    if "content_type" in given:
        headers["Content-Type"] = given["content_type"]
    middlewares = []
    if "username" in given or "password" in given:
        from aiohttp import DigestAuthMiddleware, encode_basic_auth

        user, password = given.get("username", ""), given["password"].reveal() if "password" in given else ""
        if given.get("authentication") == "digest":
            middlewares.append(DigestAuthMiddleware(user, password))
        else:
            headers["Authorization"] = encode_basic_auth(user, password)
    return await egress.fetch(
        url,
        method=given["method"].upper(),
        headers=headers,
        body=(await text(given["payload"])).encode() if "payload" in given else None,
        limit_bytes=BODY_LIMIT_BYTES,
        timeout_s=given["timeout"],
        target=ConfiguredTarget(named_host(given["url"]), tuple(middlewares), given["verify_ssl"]),
    )


def named_host(url: Any) -> str:
    """Return the part of an address that names its host in the configuration itself; empty where a template does."""
    text = url.reveal() if isinstance(url, Secret) else url
    scheme, _, rest = text.partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    return "" if is_template(scheme + host) or not host else f"{scheme}://{host}/"
