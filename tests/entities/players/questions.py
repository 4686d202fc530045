"""Questions about players: what one can do, what it is doing, and the service that is called."""

from __future__ import annotations

from typing import Any

PLAIN = ("turn_on", "turn_off", "media_play", "media_pause", "media_stop", "media_next_track", "media_previous_track")
WHOLE = (
    *PLAIN,
    *("volume_set", "volume_mute", "media_seek", "select_source", "select_sound_mode", "play_media", "shuffle_set"),
    *("repeat_set", "clear_playlist", "join"),
)
STEPS = ("volume_set", "volume_up")
SONG = {"media_content_id": "a.mp3", "media_content_type": "music"}
BEYOND: dict[str, dict[str, Any]] = {
    "turn_on": {},
    "media_next_track": {},
    "volume_set": {"volume_level": 0.5},
    "media_seek": {"seek_position": 3},
    "select_source": {"source": "TV"},
    "play_media": SONG,
    "join": {"group_members": ["media_player.b"]},
    "shuffle_set": {"shuffle": True},
}
"""What one that only plays and pauses is asked for."""

Question = tuple[tuple[str, ...], str, dict[str, Any], str, dict[str, Any]]
QUESTIONS: list[Question] = [
    *((WHOLE, "playing", {}, each, {}) for each in PLAIN),
    *((WHOLE, state, {}, "toggle", {}) for state in ("off", "idle", "standby", "on", "playing", "paused", "buffering")),
    *((WHOLE, state, {}, "media_play_pause", {}) for state in ("off", "idle", "playing", "paused")),
    *((WHOLE, "playing", {"volume_level": level}, "volume_up", {}) for level in (0.0, 0.25, 0.95)),
    *((WHOLE, "playing", {"volume_level": level}, "volume_down", {}) for level in (0.5, 0.05)),
    (("volume_set",), "off", {"volume_level": 0.4}, "volume_up", {}),
    (("media_play", "media_pause"), "playing", {"volume_level": 0.4}, "volume_up", {}),
    *((WHOLE, "playing", {}, "volume_set", {"volume_level": level}) for level in (0, 0.33, 1, 1.5, -0.1, "0.5")),
    (WHOLE, "playing", {}, "volume_set", {}),
    *((WHOLE, "playing", {}, "volume_mute", {"is_volume_muted": each}) for each in (True, "off", "maybe")),
    *((WHOLE, "playing", {}, "media_seek", {"seek_position": each}) for each in (0, 12.5, -1, "x")),
    *((WHOLE, "playing", {}, "repeat_set", {"repeat": each}) for each in ("off", "all", "one", "two")),
    *((WHOLE, "playing", {}, "shuffle_set", {"shuffle": each}) for each in (True, "no")),
    (WHOLE, "playing", {"source_list": ["TV", "Radio"]}, "select_source", {"source": "Radio"}),
    (WHOLE, "playing", {}, "select_sound_mode", {"sound_mode": "film"}),
    (WHOLE, "playing", {}, "clear_playlist", {}),
    (WHOLE, "playing", {}, "join", {"group_members": ["media_player.b", "media_player.c"]}),
    (WHOLE, "playing", {}, "unjoin", {}),
    (WHOLE, "idle", {}, "play_media", SONG),
    *((WHOLE, "idle", {}, "play_media", {**SONG, "enqueue": each}) for each in ("add", "next", "replace", True, False)),
    (WHOLE, "idle", {}, "play_media", {**SONG, "enqueue": "later"}),
    (WHOLE, "idle", {}, "play_media", {**SONG, "announce": True, "extra": {"volume": 3}}),
    (WHOLE, "idle", {}, "play_media", {"media_content_id": "a.mp3"}),
    *((("media_play", "media_pause"), "idle", {}, service, data) for service, data in BEYOND.items()),
]
