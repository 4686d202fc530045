"""Checks that the models and voices that a configuration names for this machine are some, and are installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.config.checked import Config
from hub.config.sections import CheckReport, CrossCheck
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase
from hub.models.contract import AUTO
from hub.models.schema import values_at
from hub.voice import check as satellites
from integrations.models.voice.catalogue import API, ESPEAK, Engine, names_of, offer
from integrations.models.voice.installed import VoiceFolder

Keys = tuple[str | int, ...]
_EARS = (
    ("messages", "media", "transcription_model"),
    *((*place, "transcription_model") for place in satellites.PLACES),
)
_MOUTHS = (("speech", "model"), *((*place, "speech_model") for place in satellites.PLACES))


def _engines_exist(config: Config, report: CheckReport) -> None:
    installed: set[str] | None = None
    for engine, keys, name in _named(config):
        found = offer(name)
        if name == AUTO or (name == ESPEAK and engine is Engine.PIPER):
            continue
        if found is None or found.engine is not engine:
            known = [*names_of(engine), *([ESPEAK] if engine is Engine.PIPER else [])]
            wrong = _wrong(engine, name, is_other=found is not None)
            report.error(keys, wrong, did_you_mean(name if found is None else "", known, known=phrase("there are")))
            continue
        if config.home is None:
            continue
        if installed is None:
            installed = {each.name for each in VoiceFolder(config.home).models()}
        if name not in installed:
            way = phrase("`homarus voice install {name}` installs it", name=name)
            report.warning(keys, phrase("{name} is not installed", name=name), way)


def _wrong(engine: Engine, name: str, *, is_other: bool) -> str:
    if engine is Engine.WHISPER:
        if is_other:
            return phrase("{name} is a voice; expected a model that hears", name=name)
        return phrase("there is no model {name} that hears", name=name)
    if is_other:
        return phrase("{name} is a model that hears; expected a voice", name=name)
    return phrase("there is no voice {name}", name=name)


def _named(config: Config) -> Iterator[tuple[Engine, Keys, str]]:
    """Yield what is named for this machine: what is to run it, and its keys."""
    section: Mapping[str, Any] = config.get(API) or {}
    for engine, key in ((Engine.WHISPER, "stt"), (Engine.PIPER, "tts")):
        if key in section:
            yield engine, (API, key), section[key]
    for engine, places in ((Engine.WHISPER, _EARS), (Engine.PIPER, _MOUTHS)):
        for place in places:
            for keys, ref in values_at(config, place):
                if (name := _here(ref)) is not None:
                    yield engine, keys, name
    speech: Mapping[str, Any] = config.get("speech") or {}
    usual = speech.get("model") or (f"{API}/{AUTO}" if "command" not in speech else "")
    if "voice" in speech and _has_voices(usual, section):
        yield Engine.PIPER, ("speech", "voice"), speech["voice"]
    general = section.get("speech_model") or usual
    for keys, settings in satellites.parts(config):
        if "voice" in settings and _has_voices(settings.get("speech_model") or general, section):
            yield Engine.PIPER, (*keys, "voice"), settings["voice"]


def _here(ref: str) -> str | None:
    """Return the model of this machine that a reference means; None for another one."""
    provider, _, name = ref.partition("/")
    return name or AUTO if provider == API else None


def _has_voices(ref: str, section: Mapping[str, Any]) -> bool:
    """Whether a model speaks with the voices of Piper; espeak-ng has hundreds of its own."""
    name = _here(ref)
    return name is not None and ESPEAK not in (name, section.get("tts"))


CROSS_CHECKS: Mapping[str, CrossCheck] = {**satellites.CROSS_CHECKS, "engines": _engines_exist}
