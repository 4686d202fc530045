"""A real Music Player Daemon is followed and commanded, plays what the home has, and says what it is given to say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from integrations.devices.mpd.client import connected
from tests.hub_fixture import HubFixture
from tests.servers.mpd import running_mpd, song
from tests.until import until

PLAYER = "media_player.music"
STATION = "http://127.0.0.1:9/radio.mp3"


class QuickClock(Clock):
    """Waits a hundredth of what is asked."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


class Music:
    """A hub with a player."""

    def __init__(self, hub: HubFixture, port: int) -> None:
        self.hub, self.port = hub, port

    async def call(self, service: str, **data: Any) -> Any:
        domain, _, name = service.partition(".")
        target = {} if "entity_id" in data else {"entity_id": PLAYER}
        wants = name in ("browse_media", "search_media")
        return await self.hub.services.call(
            domain, name, {**target, **data}, context=Context(SYSTEM), wants_response=wants
        )

    def shows(self, state: str, attributes: Mapping[str, Any]) -> bool:
        now = self.hub.states.get(PLAYER)
        return now is not None and now.state == state and attributes.items() <= now.attributes.items()

    async def asked(self, *words: str) -> list[tuple[str, str]]:
        """Ask the player itself."""
        async with connected("127.0.0.1", self.port, "sesame") as client:
            return await client.ask(*words)


@pytest.fixture
async def music(tmp_path: Path) -> AsyncIterator[Music]:
    song(tmp_path / "said.wav", 0.3)
    async with running_mpd(tmp_path / "mpd") as port:
        sections = {
            "mpd": [{"host": "127.0.0.1", "port": port, "name": "Music", "password": "sesame"}],
            "media": {"radio": [{"name": "Radio One", "url": STATION}], "engines": ["cloud"]},
            "speech": {"command": ["cat", str(tmp_path / "said.wav")]},
        }
        integrations = ("mpd", "media", "speech", "openai_compatible", "webchat")
        hub = HubFixture(tmp_path / "home", "http://127.0.0.1:9", sections=sections, integrations=integrations)
        async with hub:
            music = Music(hub, port)
            await until(lambda: music.shows("off", {}))
            yield music


def file(uri: str, **more: Any) -> dict[str, Any]:
    return {"media_content_id": uri, "media_content_type": "music", **more}


async def test_commands_are_done_and_what_it_does_is_shown(music: Music) -> None:
    steps: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
        ("play_media", file("long.wav"), "playing", {"media_content_id": "long.wav", "media_duration": 600}),
        ("volume_set", {"volume_level": 0.3}, "playing", {"volume_level": 0.3, "is_volume_muted": False}),
        ("volume_up", {}, "playing", {"volume_level": 0.35}),
        ("volume_mute", {"is_volume_muted": True}, "playing", {"is_volume_muted": True}),
        ("volume_mute", {"is_volume_muted": False}, "playing", {"volume_level": 0.35}),
        ("media_pause", {}, "paused", {}),
        ("media_seek", {"seek_position": 120}, "paused", {"media_position": 120}),
        ("media_play_pause", {}, "playing", {}),
        ("shuffle_set", {"shuffle": True}, "playing", {"shuffle": True}),
        ("repeat_set", {"repeat": "one"}, "playing", {"repeat": "one"}),
        ("repeat_set", {"repeat": "off"}, "playing", {"repeat": "off"}),
        ("shuffle_set", {"shuffle": False}, "playing", {"shuffle": False}),
        ("play_media", file("other.wav", enqueue="next"), "playing", {"media_content_id": "long.wav"}),
        ("media_next_track", {}, "playing", {"media_content_id": "other.wav", "media_title": "other.wav"}),
        ("media_previous_track", {}, "playing", {"media_content_id": "long.wav"}),
        ("select_source", {"source": "Evening"}, "playing", {"media_content_id": "other.wav"}),
        ("toggle", {}, "off", {}),
    ]
    for service, data, state, attributes in steps:
        await music.call(f"media_player.{service}", **data)
        await until(lambda state=state, attributes=attributes: music.shows(state, attributes))  # type: ignore[misc]

    found = music.hub.states.get(PLAYER)
    assert found is not None
    assert found.attributes["source_list"] == ["Evening"]
    assert found.attributes["supported_features"] == 3_604_415


async def test_it_says_something_and_goes_on_where_it_was(music: Music) -> None:
    await music.call("media_player.play_media", **file("long.wav"))
    await music.call("media_player.media_seek", seek_position=200)
    await until(lambda: music.shows("playing", {"media_content_id": "long.wav"}))
    heard: list[str] = []
    music.hub.bus.listen("state_changed", lambda event: heard.append(str(event.data["new_state"])))

    await music.call("tts.speak", entity_id="tts.home", media_player_entity_id=PLAYER, message="The door is open")

    status = dict(await music.asked("status"))
    assert (status["state"], status["playlistlength"]) == ("play", "1")
    assert 199 < float(status["elapsed"]) < 210
    assert dict(await music.asked("currentsong"))["file"] == "long.wav"
    assert any("/api/tts_proxy/" in each for each in heard)


async def test_the_old_services_speak_too_and_leave_it_silent_as_it_was(music: Music) -> None:
    for service in ("tts.home_say", "tts.cloud_say"):
        await music.call(service, entity_id=PLAYER, message="Hello")

        status = dict(await music.asked("status"))
        assert (status["state"], status["playlistlength"]) == ("stop", "0")


async def test_stations_and_files_of_the_home_are_browsed_and_played(music: Music) -> None:
    await music.call("media_player.play_media", **file("media-source://media_source/local/bell.wav", enqueue="add"))
    root = (await music.call("media_player.browse_media"))[PLAYER]
    radio = (await music.call("media_player.browse_media", **file("media-source://radio")))[PLAYER]
    await music.call("media_player.play_media", **file(radio["children"][0]["media_content_id"], enqueue="add"))

    assert [each["title"] for each in root["children"]] == ["long.wav", "other.wav", "Evening", "Radio", "My media"]
    assert [(each["title"], each["can_play"]) for each in radio["children"]] == [("Radio One", True)]
    listed = [value for key, value in await music.asked("playlistinfo") if key == "file"]
    assert "/media/local/bell.wav?authSig=" in listed[0]
    assert listed[1] == STATION
    found = (await music.call("media_player.search_media", search_query="one"))[PLAYER]
    assert [each["title"] for each in found["result"]] == ["Radio One"]


async def test_a_player_that_goes_is_told_and_comes_back(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"mpd": [{"host": "127.0.0.1", "name": "Music", "password": "sesame"}]}
    async with running_mpd(tmp_path / "mpd") as port:
        sections["mpd"][0]["port"] = port
        hub = HubFixture(
            tmp_path / "home",
            "http://127.0.0.1:9",
            sections=sections,
            integrations=("mpd", "media", "openai_compatible", "webchat"),
            clock=QuickClock(),
        )
        await hub.start()
        music = Music(hub, port)
        await until(lambda: music.shows("off", {}))

    await until(lambda: music.shows("unavailable", {}) and f"127.0.0.1:{port}" in str(hub.repairs.all()))
    with pytest.raises(Unavailable):
        await music.call("media_player.media_play")

    async with running_mpd(tmp_path / "mpd", port):
        await until(lambda: music.shows("off", {}) and f"127.0.0.1:{port}" not in str(hub.repairs.all()))
        await hub.stop()


async def test_what_it_cannot_do_is_refused_with_a_reason(music: Music) -> None:
    refused: list[tuple[str, dict[str, Any], type[HubError]]] = [
        ("play_media", file("media-source://radio/none"), NotFound),
        ("play_media", file("no/such.mp3"), InvalidRequest),
        ("play_media", file("two\nlines"), InvalidRequest),
        ("select_source", {"source": "None"}, InvalidRequest),
        ("join", {"group_members": ["media_player.other"]}, InvalidRequest),
        ("browse_media", file("media-source://elsewhere"), NotFound),
    ]
    for service, data, error in refused:
        with pytest.raises(error):
            await music.call(f"media_player.{service}", **data)

    with pytest.raises(InvalidRequest, match="password"):
        async with connected("127.0.0.1", music.port, "wrong"):
            pass
    with pytest.raises(Unavailable, match="no Music Player Daemon"):
        async with connected("127.0.0.1", music.hub.port, None):
            pass
