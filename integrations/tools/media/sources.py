"""What `media-source://` names: radio stations, files of the home and spoken words, to browse and to play."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.entities.entities import EntityHandle, OwnService
from hub.entities.media_files import FOLDERS, MediaFiles
from hub.security.folder_entry import FileKind

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from integrations.tools.media.speech import Speech

ROOT = "media-source://"
RADIO, TTS, LOCAL = f"{ROOT}radio", f"{ROOT}tts", f"{ROOT}media_source/local"
LIFE_S = 86_400.0
"""How long an address of a file of the home is good, as with Home Assistant."""
SHOWN_LIMIT = 1_000
_PLAYED = ("audio/", "video/", "image/")

Item = dict[str, Any]


class MediaSources:
    """The sources, for every player alike.

    Args:
        stations: The radio stations, each with its name and url.
        speech: Speaks.
    """

    def __init__(self, host: IntegrationHost, stations: Iterable[Mapping[str, str]], speech: Speech) -> None:
        self._host, self._speech = host, speech
        self._stations = {slugify(each["name"]) or str(index): each for index, each in enumerate(stations)}
        self._files = MediaFiles(host.home.path)

    def services(self) -> Mapping[str, OwnService]:
        """Return the services of players that are about media, by name."""
        return {"play_media": self._play, "browse_media": self._browse, "search_media": self._search}

    async def _play(self, handle: EntityHandle, data: Mapping[str, Any]) -> None:
        play = handle.commands.get("play_media")
        if play is None:
            service = "play_media"
            raise InvalidRequest(phrase("{entity} cannot do this: {service}", entity=handle.entity_id, service=service))
        url, kind = await self.resolve(data["media_content_id"], data["media_content_type"])
        await play({**data, "media_content_id": url, "media_content_type": kind})

    async def resolve(self, id: str, kind: str) -> tuple[str, str]:
        """Return the address and the type of what is played; those of others are returned as they are.

        Raises:
            NotFound: There is no such station or file.
            HubError: It cannot be spoken.
        """
        if id.startswith(f"{RADIO}/"):
            station = self._stations.get(id.removeprefix(f"{RADIO}/"))
            if station is None:
                raise NotFound(
                    phrase("there is no radio station {id}; there are: {known}", id=id, known=[*self._stations])
                )
            return station["url"], "music"
        if id.startswith(f"{TTS}/"):
            parts = urlsplit(id)
            asked = dict(parse_qsl(parts.query))
            if parts.path.strip("/").removeprefix("tts.") not in self._speech.names:
                return id, kind
            if not asked.get("message"):
                raise InvalidRequest(phrase("{id} has no message", id=id[:200]))
            return await self._speech.address(asked["message"], asked.get("language", ""), asked.get("voice", ""))
        if id.startswith(f"{LOCAL}/"):
            id = f"{FOLDERS['media']}/{unquote(id.removeprefix(f'{LOCAL}/'))}"
        if id.startswith(tuple(f"{path}/" for path in FOLDERS.values())):
            return self._host.signed_url(id, LIFE_S), mimetypes.guess_type(id)[0] or kind
        return id, kind

    async def _browse(self, handle: EntityHandle, data: Mapping[str, Any]) -> Item:
        id = data.get("media_content_id") or ""
        if not id.startswith(ROOT) and "browse_media" in handle.commands:
            found = dict(await handle.commands["browse_media"](data) or {})
            if not id and "play_media" in handle.commands:
                found["children"] = [*found.get("children", ()), *self._root()["children"]]
            return found
        if id in ("", ROOT):
            return self._root()
        if id == RADIO:
            return self._radio()
        if id == TTS:
            return _item(TTS, "Text-to-speech", "app", "provider", children=[])
        if id == LOCAL or id.startswith(f"{LOCAL}/"):
            return await FILES.run(self._folder, unquote(id.removeprefix(LOCAL).strip("/")))
        raise NotFound(phrase("there is nothing to play at {id}", id=id[:200]))

    async def _search(self, handle: EntityHandle, data: Mapping[str, Any]) -> Mapping[str, Any]:
        own: Any = {}
        if "search_media" in handle.commands:
            own = await handle.commands["search_media"](data) or {}
        words = data["search_query"].casefold().split()
        stations = [
            each for each in self._radio()["children"] if all(word in each["title"].casefold() for word in words)
        ]
        return {"version": 1, "result": [*stations, *own.get("result", ())]}

    def _root(self) -> Item:
        children = [_item(LOCAL, "My media", "directory", "")]
        if self._stations:
            children.insert(0, _item(RADIO, "Radio", "directory", "", of="music"))
        return _item(ROOT, "Media", "directory", "", children=children)

    def _radio(self) -> Item:
        stations = [
            _item(f"{RADIO}/{id}", each["name"], "music", "music", is_played=True)
            for id, each in self._stations.items()
        ]
        return _item(RADIO, "Radio", "directory", "", of="music", children=stations)

    def _folder(self, path: str) -> Item:
        try:
            found = self._files.root("media").scan(path or ".")
        except (OSError, HubError) as error:
            if path:
                raise NotFound(phrase("there is nothing to play at {id}", id=path[:200])) from error
            found = []
        children = []
        for each in found:
            id, name = f"{LOCAL}/{quote(each.path)}", os.path.basename(each.path)
            mime_type = mimetypes.guess_type(name)[0] or ""
            if each.kind is FileKind.DIRECTORY:
                children.append(_item(id, name, "directory", ""))
            elif each.kind is FileKind.FILE and mime_type.startswith(_PLAYED):
                kind = mime_type.partition("/")[0]
                children.append(_item(id, name, {"audio": "music"}.get(kind, kind), mime_type, is_played=True))
        title = os.path.basename(path) or "My media"
        return _item(f"{LOCAL}/{quote(path)}".rstrip("/"), title, "directory", "", children=children)


def _item(
    id: str,
    title: str,
    media_class: str,
    kind: str,
    *,
    of: str | None = None,
    is_played: bool = False,
    children: Any = None,
) -> Item:
    """Return something to play, or a folder, as Home Assistant shows it."""
    found: Item = {
        "title": title,
        "media_class": media_class,
        "media_content_type": kind,
        "media_content_id": id,
        "children_media_class": of,
        "can_play": is_played,
        "can_expand": not is_played,
        "thumbnail": None,
    }
    if children is not None:
        found |= {"not_shown": max(0, len(children) - SHOWN_LIMIT), "children": children[:SHOWN_LIMIT]}
    return found
