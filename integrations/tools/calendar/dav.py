"""Requests to calendar servers (RFC 4791), through the egress client."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from hub.core.errors import HubError, Unavailable
from hub.security.egress import ConfiguredTarget, Egress, Fetched

BODY_LIMIT_BYTES = 5_000_000


def address_of(account: Mapping[str, Any]) -> str:
    """Return the address of a calendar or list."""
    return str(account["url"].reveal()).replace("webcal://", "https://", 1)


class Refused(Unavailable):
    """The server answered that it did not do it."""


class Dav:
    """Calls the servers of calendars and lists.

    Attributes:
        reader: Reads what they answer in another process.
    """

    def __init__(self, egress: Egress, timeout_s: float) -> None:
        self._egress, self._timeout_s = egress, timeout_s
        self.reader = egress.reader

    async def report(self, what: str, account: Mapping[str, Any], query: str) -> bytes:
        """Return the answer to a query; see `call`."""
        headers = {"Content-Type": "application/xml; charset=utf-8", "Depth": "1"}
        return (await self.call(what, account, "REPORT", address_of(account), headers, query.encode())).body

    async def call(
        self,
        what: str,
        account: Mapping[str, Any],
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Fetched:
        """Make a request with the account, if it has one.

        Args:
            what: The calendar or list, for errors.

        Raises:
            HubError: The server cannot be reached, or refuses.
        """
        if "username" in account:
            pair = f"{account['username']}:{account['password'].reveal()}"
            headers = {**headers, "Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        try:
            answer = await self._egress.fetch(
                url,
                method=method,
                headers=headers,
                body=body,
                limit_bytes=BODY_LIMIT_BYTES,
                timeout_s=self._timeout_s,
                target=ConfiguredTarget(verify_tls=account.get("verify_ssl", True)),
            )
        except HubError as error:
            error.message = f"{what}: {error.message}"
            raise
        if answer.status in (401, 403):
            raise Unavailable(f"the server of {what} refuses username or password")
        if not 200 <= answer.status < 300:
            raise Refused(f"the server of {what} answered with the status {answer.status}")
        return answer


class CalendarObject(Struct, frozen=True):
    """A file of a calendar or list, as the server has it."""

    href: str
    etag: str
    source: str


def read_objects(body: bytes) -> list[CalendarObject]:
    """Return the files in the answer to a query."""
    from xml.etree import ElementTree as ET

    dav, caldav = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"
    found = []
    for response in ET.fromstring(body).iter(f"{dav}response"):  # noqa: S314
        if source := response.findtext(f".//{caldav}calendar-data"):
            href, etag = response.findtext(f"{dav}href") or "", response.findtext(f".//{dav}getetag") or ""
            found.append(CalendarObject(href, etag, source))
    return found


def at_server(base: str, href: str) -> str:
    """Return the address that a server means: at its own host, or at one of the same owner with the same safety."""
    own, meant = urlsplit(base), urlsplit(urljoin(base, href))
    owner = ".".join((own.hostname or "").split(".")[-2:])
    if meant.scheme == own.scheme and (meant.hostname or "").endswith(f".{owner}") and not owner[-1:].isdigit():
        return meant.geturl()
    return own._replace(path=meant.path, query=meant.query).geturl()
