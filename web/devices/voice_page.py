"""The page *Voice*: the satellites, a try of each stage, and what was said to them lately."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web
from msgspec.structs import replace

from hub.config.store import EVENT_CONFIG_CHANGED
from hub.core.errors import InvalidRequest, NotFound
from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.states import EVENT_STATE_CHANGED
from hub.core.surfaces import HttpCall
from hub.models.registry import EVENT_MODELS_CHANGED
from hub.voice.contract import DOMAIN, EVENT_STAGE, TALK, SatelliteInfo
from hub.voice.engine_list import HEARS, SPEAKS, list_engines, list_wake_programs
from hub.voice.sound import as_wav
from hub.voice.timer import name_of
from hub.voice.timers import EVENT_TIMER
from web.core.form import read_fields
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

if TYPE_CHECKING:
    from hub.models.registry import ModelRegistry
    from hub.voice.contract import SatelliteView, VoiceTurn
    from hub.voice.engine_list import EngineList
    from hub.voice.engines import VoiceEngines
    from hub.voice.satellites import SatelliteRegistry
    from hub.voice.settings import SatelliteSettings
    from hub.voice.timers import SatelliteTimers
    from web.devices.voice_settings import VoiceSettingsPage

PATH = "/devices/voice"
TOPIC = "voice"
SHOWN = 10
KEPT_S = 60.0
"""For so long it is not asked again what there is."""
MESSAGES, BROWSER = phrase("voice messages"), phrase("talking in the browser")
SAMPLES = "application/octet-stream"
SHORTEST_BYTES = 3_200
STAGES: Mapping[str, tuple[str, str]] = {
    "idle": (phrase("Ready"), "good"),
    "listening": (phrase("Listening"), "action"),
    "processing": (phrase("Thinking"), "action"),
    "responding": (phrase("Speaking"), "action"),
}
AWAY = (phrase("Away"), "warn")
OUTCOMES: Mapping[str, tuple[str, str]] = {
    "answered": (phrase("Answered"), "good"),
    "silence": (phrase("Nothing was said"), ""),
    "noise": (phrase("Noise"), ""),
    "interrupted": (phrase("Interrupted"), ""),
    "elsewhere": (phrase("Answered in another room"), ""),
    "failed": (phrase("Failed"), "danger"),
}
SPANS = (("heard", "text"), ("text", "answer"), ("answer", "speech"))
"""What a bar shows: understanding, thinking, and speaking."""
_HERE = SatelliteInfo("dashboard", "", "")
_SAY = Schema(
    {
        Required("satellite"): All(string, Length(min=1, max=200)),
        Required("text"): All(string, Length(min=1, max=1_000)),
    }
)
_TIMER = Schema(
    {
        Required("id"): All(string, Length(min=1, max=100)),
        Required("do"): In(("snooze", "skip", "cancel")),
    }
)
_SPEAK = Schema(
    {
        Required("text"): All(string, Length(min=1, max=1_000)),
        Optional("engine", default=""): All(string, Length(max=200)),
    }
)


class VoicePage:
    """The page, for administrators.

    Args:
        client: Calls `areas.list` and `talk.catalog`.
        satellites: The satellites of the home.
        models: Know what hears and speaks.
        timers: Returns their timers, once there are some.
        language_of: Returns the language of a person, by id, or of the home.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        satellites: SatelliteRegistry,
        models: ModelRegistry,
        timers: Callable[[], SatelliteTimers | None],
        *,
        language_of: Callable[[str | None], str],
    ) -> None:
        self._renderer, self._client, self._satellites = renderer, client, satellites
        self._models, self._timers, self._language_of = models, timers, language_of
        self._found: tuple[float, EngineList] | None = None
        self.settings: VoiceSettingsPage
        """The forms of settings; given by who makes both."""

    def keep_true(self, bus: EventBus, changed: Callable[[str], None]) -> list[Unsubscribe]:
        """Have the page follow what the satellites do."""

        def moved(event: Event) -> None:
            if str(event.data.get("entity_id", "")).startswith(f"{DOMAIN}."):
                changed(TOPIC)

        def other_models(_: Event) -> None:
            self._found = None

        listening = [bus.listen(each, other_models) for each in (EVENT_MODELS_CHANGED, EVENT_CONFIG_CHANGED)]
        told = (bus.listen(each, lambda _: changed(TOPIC)) for each in (EVENT_STAGE, EVENT_TIMER))
        return [*listening, *told, bus.listen(EVENT_STATE_CHANGED, moved)]

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices/voice`: the page."""
        data = {**await self._data(), **await self._programs()}
        return await self._renderer.respond(call, RenderedPage("voice", "Voice", data, PATH))

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows what changes."""
        html = self._renderer.fragment("voice", language, page=await self._data())
        return ({"t": "html", "id": "voice", "html": html},)

    async def say(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/voice/say`: say a text at a satellite."""
        fields = read_fields(call, _SAY)
        heard = await self._satellites.say(fields["satellite"], fields["text"])
        return json_response({"whole": heard.is_whole}) if wants_json(call.request) else see_other(PATH)

    async def timer(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/voice/timer`: put off what rings, leave out the next time of an alarm, or cancel."""
        fields, timers = read_fields(call, _TIMER), self._timers()
        known = [*timers.all(), *timers.can_snooze()] if timers is not None else []
        timer = next((each for each in known if each.id == fields["id"]), None)
        if timers is None or timer is None:
            raise NotFound(phrase("This timer is no longer there."))
        match fields["do"]:
            case "snooze":
                await timers.snooze(timer)
            case "skip":
                await timers.skip(timer)
            case _:
                await timers.cancel(timer)
        return see_other(PATH)

    async def speak(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/voice/speak`: a text as a recording, to be played in the browser."""
        fields = read_fields(call, _SPEAK)
        engines, settings, language = self._usual(call)
        if fields["engine"]:
            sound = await engines.spoken_by(fields["engine"], "", fields["text"], language)
        else:
            sound = await engines.sound_of(fields["text"], settings, language)
        return web.Response(body=as_wav(sound), content_type="audio/wav", headers={"Cache-Control": "no-store"})

    async def hear(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/voice/hear`: what was understood of samples of the browser's microphone, and how fast."""
        samples = bytes(call.body)
        is_sound = call.request.content_type == SAMPLES
        if not is_sound or len(samples) < SHORTEST_BYTES or len(samples) % 2:
            raise InvalidRequest("expected a tenth of a second at least, of samples of 16 bits, 16,000 a second")
        began = time.perf_counter()
        engines, settings, language = self._usual(call)
        if engine := call.request.query.get("engine", ""):
            settings = replace(settings, transcription_model=engine)
        text = await engines.text_of(samples, settings, language)
        return json_response({"text": text, "ms": round(1_000 * (time.perf_counter() - began))})

    def _usual(self, call: HttpCall) -> tuple[VoiceEngines, SatelliteSettings, str]:
        person = call.known_caller.authority.person
        settings = self._satellites.settings.of(replace(_HERE, person=person))
        return self._satellites.engines, settings, settings.language or self._language_of(person)

    async def engines(self) -> EngineList:
        """Return what hears and speaks, as it was found at most a minute ago."""
        models, now = self._models, self._satellites.clock.monotonic()
        if self._found is None or now - self._found[0] > KEPT_S:
            named = {ref: frozenset(does for does, _ in uses) for ref, uses in self._used().items()}
            self._found = now, await list_engines(models, self._satellites.clock, named)
        return self._found[1]

    def _used(self) -> dict[str, list[tuple[str, str]]]:
        """Return what each model that is named does, and where."""
        registry = self._satellites
        found: dict[str, list[tuple[str, str]]] = {}
        places: list[tuple[str, tuple[str | None, str | None]]] = [(MESSAGES, registry.engines.usual)]
        settings = registry.settings.of(_HERE)
        places.append((BROWSER, (registry.engines.ear(settings), registry.engines.mouth(settings)[0])))
        for view in registry.all():
            settings = registry.settings.of(view.info)
            places.append((view.info.name, (registry.engines.ear(settings), registry.engines.mouth(settings)[0])))
        for place, refs in places:
            for does, ref in zip((HEARS, SPEAKS), refs, strict=True):
                if ref is not None:
                    found.setdefault(ref, []).append((does, place))
        return found

    async def _programs(self) -> dict[str, Any]:
        found, used = await self.engines(), self._used()
        places: dict[str, dict[str, None]] = {}
        for ref, uses in used.items():
            for does, place in uses:
                places.setdefault(found.usual.get((ref, does), ref), {})[place] = None
        wake = await list_wake_programs(self._satellites.wake_engines, self._satellites.clock)
        listened = [view.info.name for view in self._satellites.all() if view.info.always_sends]
        return {
            "engines": [
                {
                    "ref": each.ref,
                    "hears": each.hears,
                    "speaks": each.speaks,
                    "local": each.is_local,
                    "place": each.place,
                    "languages": list(each.languages),
                    "trouble": each.trouble,
                    "used": list(places.get(each.ref, ())),
                }
                for each in found.engines
            ],
            "silent": [{"name": name, "why": why} for name, why in found.troubles.items()],
            "wake": [
                {
                    "name": each.name,
                    "words": [word.replace("_", " ") for word in each.words],
                    "trouble": each.trouble,
                    "used": listened,
                }
                for each in wake
            ],
        }

    async def _data(self) -> dict[str, Any]:
        areas = {each["id"]: each["name"] for each in (await self._client.read("areas.list"))["areas"]}
        ready = (await self._client.read("talk.catalog"))["modes"]
        settings = self._satellites.settings.of(_HERE)
        turns, views = self._satellites.turns(), self._satellites.all()
        names = {view.info.id: view.info.name for view in views}
        missing = [id for id in self._satellites.settings.satellites if id not in names]
        longest = max((_spent(each) for each in turns[:SHOWN]), default=0) or 1
        return {
            "satellites": [self._satellite(view, areas, self._satellites.turns(view.info.id)) for view in views],
            "missing": missing,
            "turns": [self._turn(each, names, longest) for each in turns[:SHOWN]],
            "timers": self._shown_timers(),
            "hears": settings.transcription_model is not None or "transcription" in ready,
            "speaks": settings.speech_model is not None or "stt-tts" in ready,
        }

    def _satellite(self, view: SatelliteView, areas: Mapping[str, str], turns: Sequence[VoiceTurn]) -> dict[str, Any]:
        word, tone = STAGES[view.stage.value] if view.is_connected else AWAY
        said = next((each for each in turns if each.text), None)
        return {
            "id": view.info.id,
            "name": view.info.name,
            "room": areas.get(view.area_id or "", ""),
            "platform": view.info.platform,
            "wake_words": list(view.info.wake_words),
            "trouble": view.trouble,
            "connected": view.is_connected,
            "word": word,
            "tone": tone,
            "last": said.text if said is not None else "",
            "when": self._renderer.spoken(int(1_000 * said.began_at)) if said is not None else "",
            "false_wakes": sum(1 for each in turns if each.wake_word and each.outcome in ("silence", "noise")),
            "wakes": sum(1 for each in turns if each.wake_word),
        }

    def _shown_timers(self) -> list[dict[str, Any]]:
        timers = self._timers()
        if timers is None:
            return []
        rung = {each.id for each in timers.can_snooze()}
        return [
            {
                "id": each.id,
                "called": name_of(each)[:1].upper() + name_of(each)[1:],
                "about": [*filter(None, (each.area, each.repeats and each.repeats.told(each.language)))],
                "rings": timers.is_ringing(each),
                "paused": each.ends_at is None,
                "put_off": each.is_snoozed,
                "when": self._renderer.when(int(1_000 * (each.ends_at or 0)), seconds=not each.is_alarm),
                "repeats": each.repeats is not None,
                "may_snooze": each.id in rung,
            }
            for each in timers.all()
        ]

    def _turn(self, turn: VoiceTurn, names: Mapping[str, str], longest: int) -> dict[str, Any]:
        word, tone = OUTCOMES.get(turn.outcome, (turn.outcome, ""))
        bars, at = [], 0.0
        for first, second in SPANS:
            if first in turn.stages and second in turn.stages:
                ms = max(0, turn.stages[second] - turn.stages[first])
                bars.append({"x": round(100 * at / longest, 2), "width": round(100 * ms / longest, 2), "ms": ms})
                at += ms
        return {
            "id": turn.id,
            "satellite": names.get(turn.satellite, turn.name),
            "is_talk": turn.satellite == TALK,
            "when": self._renderer.when(int(1_000 * turn.began_at)),
            "wake_word": (turn.wake_word or "").replace("_", " "),
            "text": turn.text,
            "answer": turn.answer,
            "word": word,
            "tone": tone,
            "error": turn.error,
            "run_id": turn.run_id,
            "bars": bars,
            "ms": round(at),
        }


def _spent(turn: VoiceTurn) -> int:
    return sum(max(0, turn.stages.get(second, 0) - turn.stages.get(first, 0)) for first, second in SPANS)
