"""With `voice:` in the configuration, whatever names no model of its own hears and speaks on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import json

from hub.cli.configured import check_home
from integrations.models.voice.installed import VoiceFolder
from tests.integrations.models.voice.conftest import put

CALLS = """
voice_call:
  account_sid: AC00000000000000000000000000000000
  auth_token: 0123456789abcdef0123456789abcdef
  number: "+4930123456"
  public_url: https://my.home
"""


@pytest.mark.parametrize(("text", "key"), [("speech:\n", "speech"), (CALLS, "voice_call")])
def test_speech_and_calls_need_something_that_speaks(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "configuration.yaml").write_text(text)
    without = check_home(tmp_path)
    (tmp_path / "configuration.yaml").write_text(f"{text}\nvoice:\n")
    with_it = check_home(tmp_path)

    assert [(each.path, each.message.split(":")[0]) for each in without.errors] == [(key, "nothing speaks")]
    assert with_it.errors == []


HOME = """
people: [{id: anna, name: Anna, owner: true}]
agents: [{id: main}]
"""
REGISTRIES = {
    "areas": [{"id": "living_room", "name": "Living room", "aliases": ["Lounge"]}],
    "entities": [
        {"entity_id": "assist_satellite.kueche", "source": "wyoming", "unique_id": "assist_satellite_kitchen"},
        {"entity_id": "light.hall", "source": "mqtt", "unique_id": "assist_satellite_hall"},
    ],
}


def found_in(home: Path, text: str, *installed: str) -> list[tuple[str, str, str, str, int]]:
    """Return what a check says: how bad, the key, message, hint and line."""
    for name in installed:
        put(VoiceFolder(home), name)
    (home / ".storage").mkdir(exist_ok=True)
    (home / ".storage/home_registry.json").write_bytes(json.encode({"version": 1, "data": REGISTRIES}))
    (home / "configuration.yaml").write_text(HOME + text)
    checked = check_home(home)
    return [
        (how, each.path, each.message, each.hint, each.line)
        for how, problems in (("error", checked.errors), ("warning", checked.warnings))
        for each in problems
    ]


@pytest.mark.parametrize(
    ("section", "how", "key", "message", "hint"),
    [
        (
            "stt: whisper-bass",
            "error",
            "stt",
            "there is no model whisper-bass that hears",
            "did you mean whisper-base?",
        ),
        ("stt: en_US-joe-medium", "error", "stt", "is a voice; expected a model that hears", "there are: whisper-base"),
        ("stt: whisper-small", "warning", "stt", "whisper-small is not installed", "voice install whisper-small"),
        ("tts: en_US-jo-mediun", "error", "tts", "there is no voice en_US-jo-mediun", "did you mean en_US-joe-medium?"),
        (
            "tts: whisper-base",
            "error",
            "tts",
            "whisper-base is a model that hears; expected a voice",
            "there are: de_DE",
        ),
        ("voice: Anna", "error", "voice", "there is no voice Anna", "there are: de_DE"),
        ("speech_model: voice/joe", "error", "speech_model", "there is no voice joe", "there are: de_DE"),
        ("transcription_model: voise/auto", "warning", "transcription_model", "voise", ""),
        ("agent: mian", "error", "agent", "there is no agent 'mian'", "did you mean main?"),
        ("people: [{id: ana}]", "warning", "people[0].id", "nobody in people has the id ana", "did you mean anna?"),
        (
            "satellites: [{id: kitchen, person: otto}]",
            "warning",
            "satellites[0].person",
            "nobody in people has the id otto",
            "there are: anna",
        ),
        (
            "satellites: [{id: kitchen, transcription_model: voice/whisper-huge}]",
            "error",
            "satellites[0].transcription_model",
            "there is no model whisper-huge that hears",
            "",
        ),
        ("satellites: [{id: kitchn}]", "warning", "satellites[0].id", "no satellite kitchn", "did you mean kitchen?"),
        ("satellites: [{id: hall}]", "warning", "satellites[0].id", "no satellite hall has been seen yet", "kitchen"),
        (
            "satellites: [{id: kitchen, area: livingroom}]",
            "warning",
            "satellites[0].area",
            "there is no area livingroom in this home",
            "did you mean living_room?",
        ),
    ],
)
def test_what_voice_names_is_looked_for(
    tmp_path: Path, section: str, how: str, key: str, message: str, hint: str
) -> None:
    found = found_in(tmp_path, f"voice:\n  {section}\n", "whisper-base", "en_US-joe-medium")

    assert [(each[0], each[1], each[4]) for each in found] == [(how, f"voice.{key}", 5)]
    assert message in found[0][2]
    assert hint in found[0][3]


def test_what_is_there_is_no_matter_of_a_warning(tmp_path: Path) -> None:
    text = """
messages: {media: {transcription_model: voice/auto}}
voice:
  stt: whisper-base
  tts: espeak-ng
  agent: main
  voice: en-gb+f3
  satellites: [{id: kitchen, area: lounge, person: anna, speech_model: voice/en_US-joe-medium, voice: en_US-joe-medium}]
  people: [{id: anna, speech_model: openai/tts-1, voice: alloy}]
"""

    assert found_in(tmp_path, text, "whisper-base", "en_US-joe-medium") == []
