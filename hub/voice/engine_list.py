"""What hears, speaks and finds wake words in the home, where each is used, and whether it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.models.registry import ModelRegistry
from hub.models.speech import SpeechModel
from hub.voice.engines import within
from hub.voice.wake import WakeEngines

HERE = frozenset({"localhost", "127.0.0.1", "::1"})
ANSWER_S = 2.0
"""Who has not said by then what it has does not answer."""


class Engine(Struct, frozen=True):
    """A model that hears or speaks.

    Attributes:
        ref: As it is named in the configuration, such as voice/whisper-base.
        is_local: Whether it runs on this machine.
        place: Its address, where it is another machine's and known.
        languages: That it knows, by ISO 639-1 codes; empty for many, or unknown ones.
        trouble: Why it cannot be used, for people; empty if it can.
    """

    ref: str
    hears: bool
    speaks: bool
    is_local: bool
    place: str = ""
    languages: tuple[str, ...] = ()
    trouble: str = ""


class WakeProgram(Struct, frozen=True):
    """A program that finds wake words.

    Attributes:
        words: Those that it finds; empty where it cannot say.
        trouble: Why it cannot be used, for people.
    """

    name: str
    words: tuple[str, ...] = ()
    trouble: str = ""


class EngineList(Struct, frozen=True):
    """All of them.

    Attributes:
        usual: What the usual models of providers stand for: voice/auto for voice/whisper-base, by what it does.
        troubles: Providers that did not answer: why, by their names.
    """

    engines: Sequence[Engine]
    usual: Mapping[tuple[str, str], str]
    troubles: Mapping[str, str]


HEARS, SPEAKS = "hears", "speaks"


async def list_engines(models: ModelRegistry, clock: Clock, named: Mapping[str, frozenset[str]]) -> EngineList:
    """Return what hears and speaks.

    Args:
        named: Models that the configuration names, and what each of them is to do: `HEARS` and `SPEAKS`.
    """
    names = models.speech_providers()
    answers = await asyncio.gather(*(_asked(models, clock, name) for name in names))
    found: dict[str, Engine] = {}
    usual: dict[tuple[str, str], str] = {}
    troubles: dict[str, str] = {}
    for name, answer in zip(names, answers, strict=True):
        is_local, place = _place(models, name)
        if isinstance(answer, str):
            troubles[name] = answer
            continue
        for each in answer:
            ref = f"{name}/{each.id}"
            found[ref] = Engine(ref, each.hears, each.speaks, is_local, place, each.languages)
            for does, is_so in ((HEARS, each.hears), (SPEAKS, each.speaks)):
                if is_so and each.is_usual:
                    usual[f"{name}/auto", does] = ref
    for ref, roles in named.items():
        meant = {usual.get((ref, each), ref) for each in roles}
        if meant <= found.keys():
            continue
        name = ref.partition("/")[0]
        is_local, place = _place(models, name)
        trouble = troubles.get(name) or await _obstacle(models, ref)
        if name in names and not trouble:
            trouble = phrase("{name} is not installed", name=ref.partition("/")[2])
        found[ref] = Engine(ref, HEARS in roles, SPEAKS in roles, is_local, place, (), trouble)
    return EngineList(sorted(found.values(), key=lambda each: (not each.is_local, each.ref)), usual, troubles)


async def list_wake_programs(engines: WakeEngines, clock: Clock) -> list[WakeProgram]:
    """Return what finds wake words."""
    found = []
    for engine in engines.all():
        late = phrase("{name} does not answer", name=engine.name)
        try:
            words = await within(clock, engine.words(), ANSWER_S, late)
        except HubError as error:
            found.append(WakeProgram(engine.name, trouble=error.message))
        else:
            found.append(WakeProgram(engine.name, tuple(each.id for each in words)))
    return found


def _place(models: ModelRegistry, name: str) -> tuple[bool, str]:
    """Return whether a provider runs on this machine, and its address if it is another's."""
    address = models.address_of(name)
    if (models.speech_ref or "").partition("/")[0] == name or (urlsplit(address).hostname or "") in HERE:
        return True, ""
    return False, address


async def _asked(models: ModelRegistry, clock: Clock, name: str) -> Sequence[SpeechModel] | str:
    try:
        return await within(clock, models.speech_models(name), ANSWER_S, phrase("{name} does not answer", name=name))
    except HubError as error:
        return error.message


async def _obstacle(models: ModelRegistry, ref: str) -> str:
    try:
        await models.resolve(ref)
    except HubError as error:
        return error.message
    return ""
