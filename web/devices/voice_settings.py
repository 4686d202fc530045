"""The settings of satellites as forms: those for all, and those of one, written into `voice:` as a person would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.config.errors import ConfigInvalid
from hub.config.files_editor import REMOVED
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.surfaces import HttpCall
from hub.security.people import People
from hub.voice.contract import SatelliteInfo
from web.core.form import read_lists
from web.core.i18n import Catalogue, catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

if TYPE_CHECKING:
    from hub.config.paths import KeyPath
    from hub.config.store import ConfigStore
    from hub.voice.engine_list import EngineList
    from hub.voice.satellites import SatelliteRegistry
    from hub.voice.settings import SatelliteSettings

SECTION = "voice"
VOICE_PATH = "/devices/voice"
PATH = f"{VOICE_PATH}/settings"
LANGUAGES = (
    *(("en", "English"), ("zh-CN", "简体中文"), ("de", "Deutsch"), ("es", "Español"), ("fr", "Français")),
    *(("it", "Italiano"), ("nl", "Nederlands"), ("pl", "Polski"), ("pt", "Português"), ("ru", "Русский")),
)
"""That are offered; any other may be typed."""


class Setting(Struct, frozen=True):
    """One setting.

    Attributes:
        label, help: Message ids.
        widget: `select`, `switch`, `list`, `text` or `number`.
        of_one: Whether it is of one satellite alone.
    """

    key: str
    label: str
    help: str = ""
    widget: str = "select"
    of_one: bool = False


CARDS: tuple[tuple[str, tuple[Setting, ...]], ...] = (
    (
        phrase("Where it is, and whose"),
        (
            Setting("name", phrase("Name"), "", "text", of_one=True),
            Setting("area", phrase("Room"), phrase("“The light” is that of this room."), of_one=True),
            Setting(
                "person",
                phrase("Person"),
                phrase("Whose words it says, without an owner’s rights. Without one, anybody speaks as a guest."),
                of_one=True,
            ),
        ),
    ),
    (
        phrase("Who answers, and how"),
        (
            Setting("agent", phrase("Agent")),
            Setting("language", phrase("Language"), phrase("What is spoken there."), "text"),
            Setting("transcription_model", phrase("Hears")),
            Setting("speech_model", phrase("Speaks")),
            Setting("voice", phrase("Which voice"), phrase("One of what speaks; empty for its usual one."), "text"),
            Setting(
                "personal",
                phrase("What belongs to one person"),
                phrase("Whether memories, messages and calendars are told there."),
                "switch",
            ),
        ),
    ),
    (
        phrase("When it listens"),
        (
            Setting("wake_words", phrase("Wake words"), phrase("Empty: what each satellite knows itself."), "list"),
            Setting(
                "sensitivity",
                phrase("Sensitivity"),
                phrase("From 0, where hardly anything wakes it, to 1."),
                "number",
            ),
            Setting("follow_up", phrase("Listens on after a question"), phrase("Without a wake word."), "switch"),
            Setting("barge_in", phrase("Speaking breaks off an answer"), "", "switch"),
            Setting(
                "sounds",
                phrase("Short sounds"),
                phrase("They tell that it listens, or that something failed."),
                "switch",
            ),
            Setting("silence_ms", phrase("Silence that ends what is said"), "", "number"),
        ),
    ),
)
_NUMBERS: Mapping[str, Mapping[str, Any]] = {
    "sensitivity": {"min": 0, "max": 1, "step": 0.05},
    "silence_ms": {"min": 200, "max": 5_000, "step": 50, "unit": "ms"},
}
_DONE = {
    "saved": phrase("Saved. The change is in force."),
    "kept": phrase("Saved, but there are problems; until they are fixed, the last good configuration stays in force."),
}


class _Place(Struct, frozen=True):
    """Where the settings stand.

    Attributes:
        keys: Their path.
        stated: What is there.
        is_new: Whether the item of the list is not there yet.
    """

    keys: KeyPath
    stated: Mapping[str, Any]
    is_new: bool = False


class VoiceSettingsPage:
    """The forms, for administrators.

    Args:
        client: Calls `areas.list` and `agents.list`.
        config: Has the files.
        engines: Returns what hears and speaks.
        put_into_force: Applies the saved files; its errors are those that the files have.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        satellites: SatelliteRegistry,
        config: ConfigStore,
        people: Callable[[], People],
        engines: Callable[[], Awaitable[EngineList]],
        put_into_force: Callable[[], Awaitable[Any]],
    ) -> None:
        self._renderer, self._client, self._satellites = renderer, client, satellites
        self._config, self._people = config, people
        self._engines, self._put_into_force = engines, put_into_force

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices/voice/settings[?satellite=ID]`."""
        return await self._show(call, call.request.query.get("satellite", ""))

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/voice/settings`: write what changed, unless the configuration would not be valid."""
        posted = read_lists(call)
        id = (posted.get("satellite") or [""])[-1]
        self._known(id)
        place = self._place(id)
        typed = {each.key: _typed(each, posted) for each in _settings(id) if each.key in posted}
        errors: dict[str, str] = {}
        try:
            edits = _edits(id, place, _values(id, typed, errors))
            if edits and not errors:
                await asyncio.to_thread(self._config.editor.change, edits)
        except ConfigInvalid as error:
            size = len(place.keys)
            for each in error.errors:
                at = str(each.keys[size]) if each.keys[:size] == place.keys and len(each.keys) > size else ""
                errors.setdefault(at, f"{each.message}: {each.hint}" if each.hint else each.message)
        except HubError as error:
            errors[""] = error.message
        if errors:
            if wants_json(call.request):
                raise InvalidRequest(next(f"{key}: {text}" if key else text for key, text in errors.items()))
            return await self._show(call, id, typed, errors)
        done = "saved"
        if edits:
            result = await self._put_into_force()
            done = "kept" if getattr(result, "errors", ()) else "saved"
        if wants_json(call.request):
            return json_response({"done": done, "changed": len(edits)})
        return see_other(f"{PATH}?{f'satellite={quote(id)}&' if id else ''}done={done}")

    # --- below ---

    def _known(self, id: str) -> str:
        """Return the name of a satellite that is there, or that has settings."""
        if not id:
            return ""
        if (view := self._satellites.get(id)) is not None:
            return view.info.name
        if self._place(id).is_new:
            raise NotFound(phrase("there is no satellite {id}", id=id[:64]))
        return id

    def _place(self, id: str) -> _Place:
        section = self._config.current.raw.get(SECTION)
        section = section if isinstance(section, Mapping) else {}
        if not id:
            return _Place((SECTION,), section)
        items = section.get("satellites")
        items = items if isinstance(items, list) else []
        for index, each in enumerate(items):
            if isinstance(each, Mapping) and each.get("id") == id:
                return _Place((SECTION, "satellites", index), each)
        return _Place((SECTION, "satellites", len(items)), {}, is_new=True)

    async def _show(
        self,
        call: HttpCall,
        id: str,
        typed: Mapping[str, Any] | None = None,
        errors: Mapping[str, str] | None = None,
    ) -> web.Response:
        name, place = self._known(id), self._place(id)
        words = catalogue(self._renderer.preferences(call).language)
        options = await self._options()
        view = self._satellites.get(id) if id else None
        info = view.info if view is not None else SatelliteInfo(id, name, "")
        settings = self._satellites.settings
        without = replace(settings, satellites={key: each for key, each in settings.satellites.items() if key != id})
        usual = (without if id else replace(settings, general={})).of(info)
        values = {**place.stated, **(typed or {})}
        usual_of = {**self._usual(usual, info, view.area_id if view else None, options), "name": info.name}
        errors = errors or {}
        cards = [
            {
                "title": words.gettext(title),
                "fields": [
                    {
                        "spec": _spec(each, options.get(each.key, ()), usual_of.get(each.key), value, words),
                        "value": _shown(each, value),
                        "error": errors.get(each.key, ""),
                    }
                    for each in found
                    if id or not each.of_one
                    for value in (values.get(each.key),)
                ],
            }
            for title, found in CARDS
            if id or not all(each.of_one for each in found)
        ]
        data = {
            "satellite": id,
            "who": name,
            "cards": cards,
            "problem": errors.get("") or next((text for key, text in errors.items() if key not in _KEYS), ""),
            "done": words.gettext(_DONE.get(call.request.query.get("done", ""), "")),
            "yaml": self._yaml(place),
            "not_seen": bool(id) and view is None,
        }
        page = RenderedPage("voice_settings", "Voice", data, VOICE_PATH, 422 if errors else 200)
        return await self._renderer.respond(call, page)

    async def _options(self) -> dict[str, list[tuple[str, str]]]:
        areas = (await self._client.read("areas.list"))["areas"]
        agents = (await self._client.read("agents.list"))["agents"]
        found = await self._engines()
        return {
            "area": [(each["id"], each["name"]) for each in areas],
            "agent": [(each["id"], each.get("name") or each["id"]) for each in agents],
            "person": [(each.id, each.name) for each in self._people().all()],
            "language": list(LANGUAGES),
            "transcription_model": [(each.ref, each.ref) for each in found.engines if each.hears],
            "speech_model": [(each.ref, each.ref) for each in found.engines if each.speaks],
            "voice": [(name, name) for each in found.engines if each.speaks for name in (each.ref.partition("/")[2],)],
        }

    def _usual(
        self,
        settings: SatelliteSettings,
        info: SatelliteInfo,
        area: str | None,
        options: Mapping[str, Sequence[tuple[str, str]]],
    ) -> dict[str, Any]:
        """Return what counts where a setting is left empty, as people read it."""
        registry = self._satellites
        engines, parts = registry.engines, registry.parts
        agents = dict(options["agent"])
        default = parts.agent(None)
        return {
            "area": dict(options["area"]).get(area or "", ""),
            "person": dict(options["person"]).get(settings.person or "", ""),
            "agent": agents.get(settings.agent or default, settings.agent or default),
            "language": settings.language or info.language or registry.language_of(settings.person),
            "transcription_model": engines.ear(settings) or "",
            "speech_model": engines.mouth(settings)[0] or "",
            "voice": engines.mouth(settings)[1],
            "wake_words": list(settings.wake_words),
            "sensitivity": settings.sensitivity,
            "silence_ms": settings.silence_ms,
            "personal": bool(settings.personal),
            **{key: getattr(settings, key) for key in ("follow_up", "barge_in", "sounds")},
        }

    def _yaml(self, place: _Place) -> str:
        keys = place.keys if not place.is_new and place.stated else (SECTION,)
        if SECTION not in self._config.current.raw:
            return "/settings/files?file=configuration.yaml"
        at = self._config.current.location(keys)
        return f"/settings/files?file={quote(str(at['file']), safe='')}#L{at['line']}"


_KEYS = frozenset(each.key for _, found in CARDS for each in found)


def _settings(id: str) -> list[Setting]:
    return [each for _, found in CARDS for each in found if id or not each.of_one]


def _spec(
    setting: Setting, options: Sequence[tuple[str, str]], usual: Any, value: Any, words: Catalogue
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "name": setting.key,
        "label": words.gettext(setting.label),
        "help": words.gettext(setting.help) if setting.help else "",
        "widget": setting.widget,
        **_NUMBERS.get(setting.key, {}),
    }
    if setting.widget == "switch":
        on, off = words.gettext("On"), words.gettext("Off")
        empty = words.gettext("Usual: {value}").format(value=on if usual else off)
        return spec | {"widget": "segmented", "options": [("", empty), ("true", on), ("false", off)]}
    shown = ", ".join(usual) if isinstance(usual, list) else "" if usual is None else str(usual)
    if setting.widget == "select":
        empty = words.gettext("Usual: {value}").format(value=shown or words.gettext("none"))
        others = [(value, value)] if value and value not in {each for each, _ in options} else []
        return spec | {"options": [("", empty), *options, *others]}
    return spec | {"placeholder": shown, "suggestions": options}


def _shown(setting: Setting, value: Any) -> Any:
    if setting.widget == "list":
        return [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _typed(setting: Setting, posted: Mapping[str, Sequence[str]]) -> Any:
    texts = [each.strip() for each in posted[setting.key] if each.strip()]
    return texts if setting.widget == "list" else (texts or [""])[-1]


def _values(id: str, typed: Mapping[str, Any], errors: dict[str, str]) -> dict[str, Any]:
    """Return the values of what was typed, `REMOVED` for none; what means none is an error at its key."""
    found: dict[str, Any] = {}
    for setting in _settings(id):
        if setting.key not in typed:
            continue
        text = typed[setting.key]
        found[setting.key] = text or REMOVED
        if text and setting.widget == "switch":
            found[setting.key] = text == "true"
        elif text and setting.widget == "number":
            try:
                number = float(text.replace(",", "."))
            except ValueError:
                errors[setting.key] = phrase("{text} is not a number", text=text[:40])
                continue
            found[setting.key] = int(number) if number.is_integer() else number
    return found


def _edits(id: str, place: _Place, values: Mapping[str, Any]) -> dict[KeyPath, Any]:
    """Return the changes of the files."""
    if place.is_new:
        kept = {key: value for key, value in values.items() if value is not REMOVED}
        if not kept:
            return {}
        item = {"id": id, **kept}
        return {place.keys: item} if place.keys[-1] else {place.keys[:-1]: [item]}
    stated = place.stated
    changed = {
        key: value for key, value in values.items() if (key in stated if value is REMOVED else stated.get(key) != value)
    }
    left = {**stated, **changed}
    if id and changed and all(value is REMOVED for key, value in left.items() if key != "id"):
        return {place.keys: REMOVED}
    return {(*place.keys, key): value for key, value in changed.items()}
