"""Servers' lists of their files; read in the outside reader's process, never in the hub's."""

from __future__ import annotations

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from msgspec import Struct

from hub.core.errors import InvalidRequest

_DAV, _S3 = "{DAV:}", re.compile(r"^\{[^}]*\}")


class RemoteFile(Struct, frozen=True):
    """A file on a server.

    Attributes:
        changed_ms: When, milliseconds since the epoch; 0 when the server does not say.
    """

    name: str
    size_bytes: int
    changed_ms: int


class S3Listing(Struct, frozen=True):
    """A page of a bucket's keys, and the token of the next."""

    files: list[RemoteFile]
    more: str = ""


def parse_webdav(data: bytes) -> list[RemoteFile]:
    """Read the answer to PROPFIND.

    Raises:
        InvalidRequest: It is not such an answer.
    """
    found = []
    for response in _parsed(data).iter(f"{_DAV}response"):
        path = unquote(urlsplit(response.findtext(f"{_DAV}href", "")).path)
        if path.endswith("/") or response.find(f".//{_DAV}collection") is not None:
            continue
        size = response.findtext(f".//{_DAV}getcontentlength", "")
        changed = response.findtext(f".//{_DAV}getlastmodified", "")
        found.append(RemoteFile(path.rpartition("/")[2], int(size) if size.isdigit() else 0, _http_date(changed)))
    return found


def parse_s3(data: bytes) -> S3Listing:
    """Read the answer to ListObjectsV2.

    Raises:
        InvalidRequest: It is not such an answer.
    """
    found, more = [], ""
    for each in _parsed(data):
        name = _S3.sub("", each.tag)
        if name == "NextContinuationToken":
            more = each.text or ""
        elif name == "Contents":
            told = {_S3.sub("", child.tag): child.text or "" for child in each}
            size = told.get("Size", "")
            key = told.get("Key", "").rpartition("/")[2]
            found.append(RemoteFile(key, int(size) if size.isdigit() else 0, _iso_date(told.get("LastModified", ""))))
    return S3Listing(found, more)


def _parsed(data: bytes) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(data)  # noqa: S314  as above
    except ElementTree.ParseError as error:
        raise InvalidRequest(f"the server's list of files cannot be read: {error}") from error


def _http_date(text: str) -> int:
    try:
        return int(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, TypeError):
        return 0


def _iso_date(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        return 0
