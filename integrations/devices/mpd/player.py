"""A player as an entity: it is followed by `idle`, and each command has a connection of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.entities.description import DeviceInfo, EntityDescription, features_of
from hub.entities.pictures import Picture, picture_path
from hub.models.images import image_type
from integrations.devices.mpd.client import MpdClient, Pairs, connected, items

if TYPE_CHECKING:
    from hub.host import IntegrationHost

RETRY_FIRST_S, RETRY_LIMIT_S = 2.0, 60.0
ANNOUNCEMENT_LIMIT_S = 300.0
VOLUME_STEP = 5
BROWSED_LIMIT = 1_000
_STATES = {"play": "playing", "pause": "paused", "stop": "off"}
_FURTHER = ("announce", "enqueue")
_log = logging.getLogger(__name__)

Data = Mapping[str, Any]


class MpdPlayer:
    """The player.

    Args:
        config: `host`, `port`, `name` and `password`.
    """

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any]) -> None:
        self._host = host
        self._address: tuple[str, int] = (config["host"], config["port"])
        password = config.get("password")
        self._password: str | None = None if password is None else password.reveal()
        self._status: dict[str, str] = {}
        self._song: dict[str, str] = {}
        self._loudness = 0
        self._announcing = asyncio.Lock()
        self._changed = asyncio.Event()
        commands = {name: self._command(does) for name, does in self._services().items()}
        self._place = place = f"{config['host']}:{config['port']}"
        self._source = f"mpd {place}"
        device = DeviceInfo(frozenset({place}), name=config.get("name") or "Music Player Daemon")
        description = EntityDescription(
            "media_player",
            place,
            None,
            device=device,
            attributes={"supported_features": features_of("media_player", commands, _FURTHER)},
            picture=self._picture,
        )
        self._handle = host.entities.add(description, commands)
        self._handle.available(False)

    @property
    def entity_id(self) -> str:
        """Its entity id."""
        return self._handle.entity_id

    async def follow(self) -> None:
        """Keep its state true until cancelled."""
        pause_s = RETRY_FIRST_S
        while True:
            try:
                async with self._connected() as client:
                    while True:
                        await self._read(client)
                        pause_s = RETRY_FIRST_S
                        self._host.repairs.clear(self._source)
                        await client.ask("idle", "player", "mixer", "options", "playlist", limit_s=None)
            except HubError as error:
                reason = error.message
            except (ValueError, KeyError) as error:
                reason = phrase("what answers at {place} is no Music Player Daemon", place=self._place)
                _log.debug("%s: %r", self.entity_id, error)
            _log.warning("%s: %s", self.entity_id, reason)
            title = phrase("The player {place} cannot be followed", place=self._place)
            self._host.repairs.raise_(self._source, "connection", title, reason)
            self._handle.available(False)
            await self._host.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_LIMIT_S)

    def _connected(self) -> Any:
        return connected(*self._address, self._password)

    async def _read(self, client: MpdClient) -> None:
        self._status = dict(await client.ask("status"))
        self._song = (items(await client.ask("currentsong"), "file") or [{}])[0]
        lists = [each["playlist"] for each in items(await client.ask("listplaylists"), "playlist")]
        self._changed.set()
        status, song = self._status, self._song
        volume = int(status.get("volume", -1))
        repeats = status.get("repeat") == "1"
        attributes = {
            "volume_level": volume / 100 if volume >= 0 else None,
            "is_volume_muted": volume == 0 if volume >= 0 else None,
            "media_content_id": song.get("file"),
            "media_content_type": "music" if song else None,
            "media_title": _title(song),
            "media_artist": song.get("Artist"),
            "media_album_name": song.get("Album"),
            "media_track": song.get("Track"),
            "media_duration": _seconds(song.get("duration") or song.get("Time")),
            "media_position": _seconds(status.get("elapsed")),
            "media_position_updated_at": datetime.fromtimestamp(self._host.clock.time(), UTC).isoformat(),
            "shuffle": status.get("random") == "1",
            "repeat": "one" if repeats and status.get("single") == "1" else "all" if repeats else "off",
            "source_list": lists,
            "entity_picture": picture_path(self.entity_id) if song else None,
        }
        if "elapsed" not in status:
            del attributes["media_position_updated_at"]
        self._handle.available(True)
        shown = {key: value for key, value in attributes.items() if value is not None}
        self._handle.set(_STATES.get(status.get("state", ""), "idle"), shown)

    async def _picture(self) -> Picture:
        if "file" in self._song:
            async with self._connected() as client:
                data = await client.picture(self._song["file"])
            if (mime_type := image_type(data)) is not None:
                return Picture(data, mime_type)
        raise Unavailable(phrase("{entity} has no picture", entity=self.entity_id))

    def _services(self) -> Mapping[str, Callable[[MpdClient, Data], Awaitable[Any]]]:
        def says(*words: str) -> Callable[[MpdClient, Data], Awaitable[Pairs]]:
            return lambda client, data: client.ask(*words)

        return {
            "turn_on": says("play"),
            "turn_off": says("stop"),
            "media_play": says("play"),
            "media_pause": says("pause", "1"),
            "media_stop": says("stop"),
            "media_next_track": says("next"),
            "media_previous_track": says("previous"),
            "clear_playlist": says("clear"),
            "media_seek": lambda client, data: client.ask("seekcur", f"{data['seek_position']:g}"),
            "shuffle_set": lambda client, data: client.ask("random", str(int(data["shuffle"]))),
            "repeat_set": self._repeat,
            "volume_set": lambda client, data: client.ask("setvol", str(round(100 * data["volume_level"]))),
            "volume_up": lambda client, data: self._louder(client, VOLUME_STEP),
            "volume_down": lambda client, data: self._louder(client, -VOLUME_STEP),
            "volume_mute": self._mute,
            "select_source": self._select,
            "play_media": self._play,
            "browse_media": self._browse,
        }

    def _command(self, does: Callable[[MpdClient, Data], Awaitable[Any]]) -> Callable[[Data], Awaitable[Any]]:
        async def run(data: Data) -> Any:
            async with self._connected() as client:
                answer = await does(client, data)
            return answer if isinstance(answer, dict) else None

        return run

    async def _repeat(self, client: MpdClient, data: Data) -> None:
        await client.ask("repeat", "0" if data["repeat"] == "off" else "1")
        await client.ask("single", "1" if data["repeat"] == "one" else "0")

    async def _louder(self, client: MpdClient, by: int) -> None:
        volume = self._volume()
        await client.ask("setvol", str(min(100, max(0, volume + by))))

    async def _mute(self, client: MpdClient, data: Data) -> None:
        if data["is_volume_muted"]:
            self._loudness = self._volume() or self._loudness
        await client.ask("setvol", "0" if data["is_volume_muted"] else str(self._loudness or VOLUME_STEP))

    def _volume(self) -> int:
        volume = int(self._status.get("volume", -1))
        if volume < 0:
            raise InvalidRequest(phrase("{entity} does not set its volume", entity=self.entity_id))
        return volume

    async def _select(self, client: MpdClient, data: Data) -> None:
        await client.ask("clear")
        await client.ask("load", data["source"])
        await client.ask("play")

    async def _play(self, client: MpdClient, data: Data) -> None:
        what, kind, how = data["media_content_id"], data["media_content_type"], data.get("enqueue", "replace")
        if data.get("announce"):
            await self._announce(client, what)
            return
        if how == "replace":
            await client.ask("clear")
        if kind == "playlist":
            await client.ask("load", what)
            if how in ("play", "replace"):
                await client.ask("play")
            return
        song = self._status.get("song")
        at = [str(int(song) + 1)] if how in ("next", "play") and song is not None else []
        added = dict(await client.ask("addid", what, *at))["Id"]
        if how in ("play", "replace"):
            await client.ask("playid", added)

    async def _announce(self, client: MpdClient, what: str) -> None:
        """Play something, and then go on where it was."""
        async with self._announcing:
            before = dict(await client.ask("status"))
            added = dict(await client.ask("addid", what))["Id"]
            try:
                await client.ask("playid", added)
                async with asyncio.timeout(ANNOUNCEMENT_LIMIT_S):
                    while _plays(dict(await client.ask("status")), added):
                        await client.ask("idle", "player", limit_s=None)
            except TimeoutError:
                _log.warning("%s: an announcement did not end", self.entity_id)
            finally:
                await self._go_on(added, before)

    async def _go_on(self, added: str, before: Mapping[str, str]) -> None:
        async with self._connected() as client:  # the other may still wait
            state = before.get("state")
            if state == "stop" or "songid" not in before:
                await client.ask("stop")
            else:
                await client.ask("seekid", before["songid"], before.get("elapsed", "0"))
                await client.ask("pause", "0" if state == "play" else "1")
            await client.ask("deleteid", added)

    async def _browse(self, client: MpdClient, data: Data) -> dict[str, Any]:
        """Return a folder of its library as Home Assistant does; the playlists are in the first."""
        at = data.get("media_content_id") or ""
        found = await client.ask("lsinfo", at)
        children = [
            *(_media(each["directory"], each["directory"], "directory") for each in items(found, "directory")),
            *(_media(each["file"], _title(each) or each["file"], "music") for each in items(found, "file")),
            *(_media(each["playlist"], each["playlist"], "playlist") for each in items(found, "playlist")),
        ]
        whole = _media(at, at.rpartition("/")[2] or self._name(), "directory")
        return {**whole, "not_shown": max(0, len(children) - BROWSED_LIMIT), "children": children[:BROWSED_LIMIT]}

    def _name(self) -> str:
        state = self._host.states.machine.get(self.entity_id)
        return state.name if state is not None else self.entity_id


def _media(id: str, title: str, kind: str) -> dict[str, Any]:
    return {
        "title": title,
        "media_class": kind,
        "media_content_type": kind,
        "media_content_id": id,
        "children_media_class": None,
        "can_play": kind != "directory",
        "can_expand": kind == "directory",
        "thumbnail": None,
    }


def _plays(status: Mapping[str, str], song_id: str) -> bool:
    return status.get("state") == "play" and status.get("songid") == song_id


def _title(song: Mapping[str, str]) -> str | None:
    """Return a song's title: that of a station is its name and what it plays."""
    name, title = song.get("Name"), song.get("Title")
    if name and title:
        return f"{name}: {title}"
    return title or name or (song.get("file") or "").rpartition("/")[2] or None


def _seconds(value: str | None) -> int | None:
    return None if value is None else round(float(value))
