"""The settings of satellites, as `voice:` gives them: for all, for those of a person, and for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.entities.entries import AreaEntry
from hub.voice.contract import SatelliteInfo


class SatelliteSettings(Struct, frozen=True):
    """What holds for one satellite.

    Attributes:
        wake_words: What it listens for; empty is what it knows itself.
        transcription_model, speech_model: What hears and what speaks, such as voice/whisper-base; None is what does
            for voice messages.
        voice: A voice of what speaks; empty is its usual one.
        agent: Who answers; None is the default agent.
        language: What is spoken there; None is what its device says, its person speaks, or the home does.
        sensitivity: How readily a wake word is heard, from 0 to 1.
        sounds: Whether short sounds tell that it listens, or that something failed.
        follow_up: Whether it listens on when an answer asks.
        barge_in: Whether speaking breaks off what it says, where it sends all that it hears.
        name: What it is called; empty is as it says itself.
        person: Id of the person who speaks there; None is a room's, in which anybody may.
        area: Id or name of its room, in place of that of its device.
        personal: Whether what belongs to one person is told there; None is where the device itself is a person's.
        silence_ms: Silence that ends what is said.
        snooze_minutes: By how much a ring is put off where nobody says it.
        vad: What tells speech from silence: auto is a model where there is one, energy how loud it is.
    """

    wake_words: tuple[str, ...] = ()
    transcription_model: str | None = None
    speech_model: str | None = None
    voice: str = ""
    agent: str | None = None
    language: str | None = None
    sensitivity: float = 0.5
    sounds: bool = True
    follow_up: bool = True
    barge_in: bool = True
    name: str = ""
    person: str | None = None
    area: str | None = None
    personal: bool | None = None
    silence_ms: int = 700
    snooze_minutes: int = 5
    vad: str = "auto"


class VoiceSettings(Struct, frozen=True):
    """All settings; what is said of one satellite comes before what is said of its person, and that before the rest."""

    general: Mapping[str, Any] = {}
    satellites: Mapping[str, Mapping[str, Any]] = {}
    people: Mapping[str, Mapping[str, Any]] = {}

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> VoiceSettings:
        """Read the valid section `voice`; keys of other things in it are left alone."""
        return cls(section, _by_id(section.get("satellites", ())), _by_id(section.get("people", ())))

    def for_all(self) -> SatelliteSettings:
        """Return what holds where no satellite and no person says otherwise."""
        return self.of(SatelliteInfo("", "", ""))

    def of(self, info: SatelliteInfo) -> SatelliteSettings:
        """Return what holds for a satellite."""
        own = self.satellites.get(info.id, {})
        person = own.get("person", info.person)
        stated = {**self.general, **self.people.get(person or "", {}), **own, "person": person}
        if stated.get("personal") is None:
            stated["personal"] = info.person is not None
        fields = {name: stated[name] for name in SatelliteSettings.__struct_fields__ if stated.get(name) is not None}
        return msgspec.convert(fields, SatelliteSettings)


def is_named(area: AreaEntry, word: str) -> bool:
    """Whether a setting means an area: by its id, its name, or another name of it."""
    return word.casefold() in (area.id, area.name.casefold(), *map(str.casefold, area.aliases))


def named(info: SatelliteInfo, settings: SatelliteSettings) -> SatelliteInfo:
    """Return what a device says of itself under the name that it is given."""
    return replace(info, name=settings.name or info.name)


def _by_id(items: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {item["id"]: {key: value for key, value in item.items() if key != "id"} for item in items}
