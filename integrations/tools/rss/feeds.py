"""Feeds: fetched through the egress client, parsed in a separate process, with the seen items kept on disk."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hub.core.errors import InvalidRequest, Unavailable
from hub.security.egress import Egress
from hub.security.outside_reader import OutsideReader
from hub.storage.errors import StorageError
from hub.storage.files import FILES, Documents
from hub.storage.versioned_file import VersionedFile
from integrations.tools.rss.feed_reader import BODY_LIMIT_BYTES, read_items

FETCH_TIMEOUT_S = 30.0
SEEN_LIMIT = 1_000
"""Ids that are remembered of a feed, the newest; more than a feed has at once."""
FILES_LIMIT = 500
"""Feeds that are remembered, those that were looked at last."""
HEADER_CHARS = 1_000
VERSION = 1
_ACCEPT = "application/atom+xml, application/rss+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1"


class Feed(Struct, frozen=True):
    """A parsed feed: its metadata, and its items, the oldest first."""

    title: str
    link: str
    items: tuple[Mapping[str, Any], ...]


class FeedState(Struct):
    """The stored state of a feed.

    Attributes:
        ids: The ids of items that were there, the newest last.
        etag: The server's validator for the next request.
        looked: Whether it was ever read: the items of the first time are not new.
    """

    ids: list[str] = field(default_factory=list)
    etag: str = ""
    modified: str = ""
    looked: bool = False

    def take(self, items: tuple[Mapping[str, Any], ...]) -> list[Mapping[str, Any]]:
        """Remember items and return the new ones; none the first time."""
        known = set(self.ids)
        new = [item for item in items if item["id"] not in known]
        there = [str(item["id"]) for item in items]
        others = set(there)
        self.ids = ([each for each in self.ids if each not in others] + list(dict.fromkeys(there)))[-SEEN_LIMIT:]
        first, self.looked = not self.looked, True
        return [] if first else list({item["id"]: item for item in new}.values())


class FeedStateFile:
    """Stores which items of a feed one trigger has seen. Its methods block: call them in a thread.

    Args:
        home: The home directory.
        key: The owner of this feed's state.
        documents: Where the home keeps it.
    """

    def __init__(self, home: Path, key: str, documents: Documents = FILES) -> None:
        name = sha256(key.encode()).hexdigest()[:32]
        self._folder = home / ".storage" / "feeds"
        self._file = VersionedFile(self._folder / f"{name}.json", VERSION, documents=documents)

    def read(self) -> FeedState:
        """Return the stored state; empty if there is no file, or it is damaged."""
        try:
            data = self._file.read()
        except StorageError:
            return FeedState()
        if not isinstance(data, dict) or not isinstance(data.get("ids"), list):
            return FeedState()
        ids = [each for each in data["ids"] if isinstance(each, str)][-SEEN_LIMIT:]
        return FeedState(ids, str(data.get("etag") or ""), str(data.get("modified") or ""), looked=True)

    def write(self, seen: FeedState) -> None:
        """Store it, and drop the feeds that have not been used for longest.

        Raises:
            StorageError: The disk refuses.
        """
        self._file.write({"ids": seen.ids, "etag": seen.etag, "modified": seen.modified})
        self._file.documents.prune(self._folder, FILES_LIMIT)


async def look(url: str, egress: Egress, seen: FeedState) -> Feed | None:
    """Fetch and parse a feed; None if unchanged since `seen`, which is updated with the server's validators.

    Raises:
        HubError: It cannot be fetched, or is not a feed. Cancelling it ends both.
    """
    headers = {"Accept": _ACCEPT}
    if seen.etag:
        headers["If-None-Match"] = seen.etag
    if seen.modified:
        headers["If-Modified-Since"] = seen.modified
    answer = await egress.fetch(url, headers=headers, limit_bytes=BODY_LIMIT_BYTES, timeout_s=FETCH_TIMEOUT_S)
    if answer.status == 304:
        return None
    if answer.status != 200:
        raise Unavailable(f"{url} answered with the status {answer.status}")
    feed = await read_feed(answer.body, egress.reader)
    seen.etag = _header(answer.headers, "etag")
    seen.modified = _header(answer.headers, "last-modified")
    return feed


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name, "")
    return value if len(value) <= HEADER_CHARS and value.isprintable() else ""


async def read_feed(body: bytes, reader: OutsideReader) -> Feed:
    """Read a feed.

    Raises:
        InvalidRequest: It is not a feed, or takes too much to read.
        TimedOut: It takes too long.
    """
    found = await reader.read("the feed", read_items, body, returns=dict[str, Any])
    if not found["is_feed"]:
        raise InvalidRequest("expected a feed in RSS or Atom")
    return Feed(found["title"], found["link"], tuple(reversed(found["items"])))
