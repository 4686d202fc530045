"""Calendars that a CalDAV server says it has: found by PROPFIND (RFC 4791, RFC 5397), and made into entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.slugs import slugify
from integrations.tools.calendar.dav import Dav, address_of, at_server

CALENDARS_LIMIT = 100
_ASKED = """<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:current-user-principal/>
<D:displayname/><D:resourcetype/><C:calendar-home-set/><C:supported-calendar-component-set/></D:prop></D:propfind>"""


class Collection(Struct, frozen=True):
    """What a server says of one address.

    Attributes:
        principal: The address of whoever asks; empty where it is not said.
        home: The address of their calendars; empty where it is not said.
        has_events: Whether it is a calendar of events.
    """

    href: str
    name: str = ""
    principal: str = ""
    home: str = ""
    has_events: bool = False


async def find_calendars(dav: Dav, account: Mapping[str, Any]) -> list[Collection]:
    """Return the calendars of an account, wherever its address leads on the server; `href` is the whole address.

    Raises:
        HubError: The server cannot be reached, refuses, or says of no calendars.
    """
    start = address_of(account)
    about = await _ask(dav, account, start, "0")
    principal = next((each.principal for each in about if each.principal), "")
    home = next((each.home for each in about if each.home), "")
    if not home and principal:
        told = await _ask(dav, account, principal, "0")
        home = next((each.home for each in told if each.home), "")
    found = await _ask(dav, account, home, "1") if home else about
    calendars = [each for each in found if each.has_events]
    if not calendars:
        raise Unavailable(phrase("the server at {place} says of no calendars", place=urlsplit(start).netloc))
    return calendars[:CALENDARS_LIMIT]


def entities_of(account: Mapping[str, Any], found: Sequence[Collection]) -> dict[str, dict[str, Any]]:
    """Return the calendars that an item of `caldav:` makes, by their keys, as those of `calendars:` are."""
    made: dict[str, dict[str, Any]] = {}
    shared = {key: account[key] for key in ("username", "password", "verify_ssl", "days") if key in account}
    for each in found:
        if account["calendars"] and each.name not in account["calendars"]:
            continue
        one = {**shared, "url": Secret(each.href)}
        for custom in account["custom_calendars"]:
            if custom["calendar"] == each.name:
                key = slugify(f"{each.name} {custom['name']}")
                made.setdefault(key, {**one, "name": custom["name"], "search": custom["search"]})
        if not account["custom_calendars"]:
            made.setdefault(slugify(each.name) or "calendar", {**one, "name": each.name, "all_day": False})
    return made


async def _ask(dav: Dav, account: Mapping[str, Any], url: str, depth: str) -> list[Collection]:
    what = f"the calendars at {urlsplit(url).netloc}"
    headers = {"Content-Type": "application/xml; charset=utf-8", "Depth": depth}
    body = (await dav.call(what, account, "PROPFIND", url, headers, _ASKED.encode())).body
    return await dav.reader.read(what, read_collections, body, url, returns=list[Collection])


def read_collections(body: bytes, url: str) -> list[Collection]:
    """Return what an answer says, with whole addresses.

    Args:
        url: What was asked.
    """
    from xml.etree import ElementTree as ET

    dav, caldav = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"

    def address(response: ET.Element, path: str) -> str:
        href = (response.findtext(path) or "").strip()
        return at_server(url, href) if href else ""

    found = []
    for response in ET.fromstring(body).iter(f"{dav}response"):  # noqa: S314
        kinds = {each.tag for each in response.findall(f".//{dav}resourcetype/*")}
        components = {
            each.get("name", "").upper()
            for each in response.findall(f".//{caldav}supported-calendar-component-set/{caldav}comp")
        }
        found.append(
            Collection(
                address(response, f"{dav}href"),
                (response.findtext(f".//{dav}displayname") or "").strip(),
                address(response, f".//{dav}current-user-principal/{dav}href"),
                address(response, f".//{caldav}calendar-home-set/{dav}href"),
                f"{caldav}calendar" in kinds and (not components or "VEVENT" in components),
            )
        )
    return found
