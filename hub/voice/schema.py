"""The keys of `voice:` about satellites; the section belongs to the integration of that name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    number,
    slug,
    string,
)

_NAME = All(string, Length(min=1, max=200))
_WORDS = All([All(string, Length(min=1, max=100))], Length(max=10))
_KEYS: Mapping[Any, Any] = {
    Optional("wake_words", description="What satellites listen for, such as hey_jarvis; else what each knows."): _WORDS,
    Optional(
        "transcription_model", description="What hears, such as voice/whisper-base; else what hears voice messages."
    ): _NAME,
    Optional("speech_model", description="What speaks, such as voice/auto; else what speaks on this machine."): _NAME,
    Optional("voice", description="A voice of what speaks; else its usual one."): _NAME,
    Optional("agent", description="Who answers; the default agent if omitted."): slug,
    Optional(
        "language", description="What is spoken there, such as de; else what the device or its person says."
    ): _NAME,
    Optional("sensitivity", description="How readily a wake word is heard, from 0 to 1; 0.5 if omitted."): All(
        number, Range(min=0, max=1)
    ),
    Optional("sounds", description="Whether short sounds tell that it listens, or that something failed."): boolean,
    Optional("follow_up", description="Whether it listens on, without a wake word, when the answer asks."): boolean,
    Optional(
        "barge_in", description="Whether speaking breaks off an answer, where the device always listens."
    ): boolean,
    Optional("personal", description="Whether memories, messages and calendars of one person are told there."): boolean,
    Optional("vad", description="What tells speech from silence: auto (a model where there is one), or energy."): In(
        ("auto", "energy")
    ),
    Optional("silence_ms", description="Milliseconds of silence that end what is said; 700 if omitted."): All(
        integer, Range(min=200, max=5_000)
    ),
    Optional("snooze_minutes", description="By how much “snooze” puts off what rings there; 5 if omitted."): All(
        integer, Range(min=1, max=60)
    ),
}


def _distinct(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item["id"] in seen:
            raise Invalid(f"{item['id']} is there twice", path=[index, "id"])
        seen.add(item["id"])
    return items


SATELLITE_KEYS: Mapping[Any, Any] = {
    **_KEYS,
    Optional("satellites", default=list, description="Settings of one satellite, in place of those for all."): All(
        [
            Schema(
                {
                    Required("id", description="Its id, such as kitchen of assist_satellite.kitchen."): slug,
                    **_KEYS,
                    Optional("name", description="What it is called; as it says itself if omitted."): _NAME,
                    Optional(
                        "person", description="Whose words it says, without an owner's rights; else anybody's."
                    ): slug,
                    Optional("area", description="Its room, by id or name, in place of its device's."): _NAME,
                }
            )
        ],
        Length(max=100),
        _distinct,
    ),
    Optional("people", default=list, description="Settings of the satellites of one person."): All(
        [Schema({Required("id", description="Their id in people."): slug, **_KEYS})], Length(max=100), _distinct
    ),
}
"""Included by the schema of the section."""
