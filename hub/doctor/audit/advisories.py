"""Known weaknesses of the packages that are installed, as OSV lists them.

https://google.github.io/osv.dev/post-v1-querybatch/: it is told names and versions, and nothing else of this home.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import distributions
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from hub.core.errors import HubError, Unavailable
from hub.security.egress import Egress

QUERIES_LIMIT = 1_000
"""Of one request."""
PAGES_LIMIT = 10
IDS_SHOWN = 5
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


class _Weakness(Struct):
    id: str


class _Result(Struct):
    vulns: list[_Weakness] = []
    next_page_token: str = ""


class _Answer(Struct):
    results: list[_Result]


class Advisories(Struct, frozen=True):
    """The answer of a service.

    Attributes:
        host: Who was asked.
        ids: Of the weaknesses, by package and version; None when it could not be asked.
        why_not: Why, then.
    """

    host: str
    ids: Mapping[tuple[str, str], tuple[str, ...]] | None = None
    why_not: str = ""


def installed_packages() -> list[tuple[str, str]]:
    """Return the name and the version of each package that Homarus is made with, without Homarus itself."""
    found = {(str(each.metadata["Name"]).lower(), each.version) for each in distributions() if each.metadata["Name"]}
    return sorted(each for each in found if each[0] != "homarus")


async def ask_advisories(egress: Egress, url: str, packages: list[tuple[str, str]]) -> Advisories:
    """Ask a service that speaks OSV's API which of some packages have known weaknesses.

    Args:
        url: Its address, without `/v1`.
        packages: Names and versions, as on PyPI.
    """
    host = str(urlsplit(url).hostname)
    found: dict[tuple[str, str], list[str]] = {}
    try:
        for first in range(0, len(packages), QUERIES_LIMIT):
            await _ask(egress, url, packages[first : first + QUERIES_LIMIT], found)
    except HubError as error:
        return Advisories(host, why_not=error.message)
    return Advisories(host, {package: tuple(sorted(set(ids))) for package, ids in found.items()})


async def _ask(
    egress: Egress, url: str, packages: list[tuple[str, str]], found: dict[tuple[str, str], list[str]]
) -> None:
    tokens = dict.fromkeys(packages, "")
    for _ in range(PAGES_LIMIT):
        answer = await egress.fetch(
            f"{url.rstrip('/')}/v1/querybatch",
            method="POST",
            headers={"Content-Type": "application/json"},
            body=msgspec.json.encode({"queries": [_query(*each, token) for each, token in tokens.items()]}),
        )
        try:
            results = msgspec.json.decode(answer.body, type=_Answer).results if answer.status == 200 else []
        except ValueError:
            results = []
        if len(results) != len(tokens):
            raise Unavailable(f"{url} did not answer as OSV does (HTTP status {answer.status})")
        for package, result in zip(tokens, results, strict=True):
            if ids := [each.id for each in result.vulns if _ID.fullmatch(each.id)]:
                found.setdefault(package, []).extend(ids)
        asked = zip(tokens, results, strict=True)
        tokens = {package: result.next_page_token for package, result in asked if result.next_page_token}
        if not tokens:
            return
    raise Unavailable(f"{url} has more pages of answers than {PAGES_LIMIT}")


def _query(name: str, version: str, token: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
    return asked | ({"page_token": token} if token else {})
