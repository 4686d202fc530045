"""The plan of moving in from a Home Assistant: what its folder holds, what of it runs here, and the files to write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from hub.automation.blueprints.document import SIZE_LIMIT_BYTES as BLUEPRINT_LIMIT_BYTES, read_blueprint
from hub.automation.blueprints.errors import BlueprintInvalid
from hub.automation.definition.commands import NAMES as COMMANDS
from hub.config.errors import ConfigError
from hub.config.labels import PLATFORM_SECTIONS
from hub.config.marks import ConfigList, ConfigMapping, Mark, has_broken, place, plain
from hub.config.sections import Sections
from hub.core.errors import HubError
from hub.core.phrases import Phrase, phrase
from hub.core.schema import REGISTRY_ID, as_list
from hub.core.secret import Secret
from hub.core.slugs import slugify
from hub.entities.helpers.home_helpers import BROUGHT
from hub.entities.helpers.table import HELPERS, LATER_SECTIONS
from hub.migrate.draft import Draft
from hub.migrate.home_assistant.judge import Judge, Judgement
from hub.migrate.home_assistant.outside import (
    PARTS_OF_THEIRS,
    section_way,
    way_of,
)
from hub.migrate.home_assistant.their_files import TheirHome
from hub.migrate.home_assistant.their_held import TheirHeld
from hub.migrate.home_assistant.their_helpers import is_list, their_helpers
from hub.migrate.home_assistant.their_lists import bring_calendars, bring_lists
from hub.migrate.home_assistant.their_phones import TheirPhones
from hub.migrate.home_assistant.their_platforms import MADE, is_ours, their_platforms
from hub.migrate.home_assistant.their_templates import is_template, their_templates
from hub.migrate.plan import Move, MoveItem, NewPlace, Verdict, said
from hub.security.people import IMPLICIT_OWNER_ID

SOURCE = "home-assistant"
REASONS_LIMIT = 6
TEMPLATE_LIMIT_BYTES = 1_000_000
_STARTER = ("me", "Me")
_LANGUAGES = {"zh-Hans": "zh-CN", "zh-Hant": "zh-CN"}
_OWN_HOST = "core-mosquitto"


def plan_home_assistant(folder: Path, home: Path, sections: Sections, *, secrets: bool, switched_off: bool) -> Move:
    """Return the plan of bringing a Home Assistant's configuration into a home; nothing is written.

    Args:
        folder: Its folder.
        home: The home directory.
        sections: Of the home's configuration.
        secrets: Whether passwords and other secrets come along.
        switched_off: Whether automations come switched off.

    Raises:
        NotFound: There is no such folder.
        InvalidRequest: It is not the configuration of a Home Assistant, or the home's cannot be added to.
    """
    theirs = TheirHome(folder)
    draft = Draft(home, sections, "home_assistant")
    with Judge(home, draft.raw, draft.before.config.start, sections) as judge:
        return _Moving(theirs, draft, judge, secrets=secrets, switched_off=switched_off).plan(str(folder))


class _Moving:
    def __init__(self, theirs: TheirHome, draft: Draft, judge: Judge, *, secrets: bool, switched_off: bool) -> None:
        self._theirs = theirs
        self._draft = draft
        self._judge = judge
        self._secrets = secrets
        self._off = switched_off
        self._held = TheirHeld(theirs)
        self._asked: dict[str, bool] = {}
        self._phones = TheirPhones()
        self._new_places: list[NewPlace] = []
        self._names = {
            str(each.get("id")): str(each.get("entity_id"))
            for each in theirs.stored_items("core.entity_registry", "entities")
        }

    def plan(self, path: str) -> Move:
        self.move = move = Move(SOURCE, path)
        self._location()
        self._people()
        self._labels_floors_areas()
        self._blueprints()
        self._templates()
        self._helpers()
        self._template_entities()
        if (held := self._held.data()) is not None:
            self._draft.replace(BROUGHT, held)
        self._commands()
        self._scripts()
        self._automations()
        for each in self._phones.items():
            move.add(each)
        self._mqtt()
        bring_calendars(self._theirs, self._draft, move)
        bring_lists(self._theirs, self._draft, move)
        self._others()
        self._unreadable()
        for name, comes in sorted(self._asked.items()):
            verdict = Verdict.TAKEN if comes else Verdict.LEFT
            why = () if comes else (phrase("secrets come along when you say so: --secrets"),)
            to = "secrets.yaml" if comes else ""
            move.add(MoveItem("secret", name, verdict, why, "secrets.yaml", to=to))
        move.changes, errors = self._draft.changes(self._judge.path)
        move.changes.places = self._new_places
        move.errors = [str(each) for each in errors]
        if any(each.kind == "automation" and each.verdict in _COMING for each in move.items) and not self._off:
            move.notes.append(
                phrase(
                    "The automations run here as soon as they are here. If Home Assistant goes on running, switch them "
                    "off there, or bring them switched off."
                )
            )
        return move

    # -- what is where it is ----------------------------------------------------------------------------------------

    def _location(self) -> None:
        core = self._theirs.data.get("homeassistant")
        written: Mapping[str, Any] = core if isinstance(core, Mapping) else {}
        stored = self._theirs.stored("core.config")
        ours = self._draft.raw.get("hub") or {}
        language = str(stored.get("language") or written.get("language") or "")
        given = {
            "name": written.get("name") or stored.get("location_name"),
            "time_zone": written.get("time_zone") or stored.get("time_zone"),
            "latitude": written.get("latitude", stored.get("latitude")),
            "longitude": written.get("longitude", stored.get("longitude")),
            "elevation": written.get("elevation", stored.get("elevation")),
            "language": _LANGUAGES.get(language, language),
        }
        starter = {"name": {"Home"}, "time_zone": {"UTC", "Etc/UTC"}, "language": {"en"}}
        wanted: dict[str, Any] = {}
        for key, value in given.items():
            if value in (None, "") or (key in ours and ours[key] not in starter.get(key, ())):
                continue
            plainly = self._revealed(value)
            if plainly is not None and _fits(key, plainly) and ours.get(key) != plainly:
                wanted[key] = plainly
        if ("latitude" in wanted) is not ("longitude" in wanted):
            wanted = {key: value for key, value in wanted.items() if key not in ("latitude", "longitude")}
        if wanted:
            self._judge.know_location(wanted)
        for key, value in wanted.items():
            self._draft.set(("hub", key), value)
            to = f"configuration.yaml: hub.{key}"
            self.move.add(MoveItem("location", f"{key}: {value}", Verdict.TAKEN, to=to))

    def _revealed(self, value: Any) -> Any:
        """Return a value that may be a secret there; None for one that does not come along."""
        if not isinstance(value, Secret):
            return value
        if not self._secrets:
            return None
        text = value.reveal()
        try:
            return float(text)
        except ValueError:
            return text

    def _people(self) -> None:
        present = [each for each in self._draft.raw.get("people") or () if isinstance(each, Mapping)]
        ids = {str(each.get("id")) for each in present}
        names = {str(each.get("name") or each.get("id")).casefold() for each in present}
        stored = self._theirs.stored_items("person")
        written = self._theirs.data.get("person")
        found = [*stored, *(each for each, _ in _listed(written))]
        owners = {str(each.get("id")) for each in self._theirs.stored_items("auth", "users") if each.get("is_owner")}
        starter = len(present) == 1 and (present[0].get("id"), present[0].get("name")) == _STARTER
        added: list[dict[str, Any]] = []
        if found and not present:  # whoever is the owner without being written down stays it
            found.sort(key=lambda each: str(each.get("user_id")) not in owners)
            ids.add(IMPLICIT_OWNER_ID)
        for each in found:
            name = " ".join(str(each.get("name") or "").split())[:100]
            id = slugify(name) or "person"  # as their entity is called
            if not name:
                continue
            if name.casefold() in names or id in ids:
                self.move.add(MoveItem("person", name, Verdict.THERE))
                continue
            names.add(name.casefold())
            if starter and str(each.get("user_id")) in owners:
                starter = False
                self._draft.set(("people", 0, "name"), name)
                why = phrase("you are person.me here; what names person.{id} is to name person.me", id=id)
                self.move.add(MoveItem("person", name, Verdict.TAKEN, (why,), to="configuration.yaml: people"))
                continue
            ids.add(id)
            owner = {"id": IMPLICIT_OWNER_ID, "name": name, "owner": True}
            added.append({"id": id, "name": name} if present or added else owner)
            if trackers := [str(one) for one in as_list(each.get("device_trackers")) if str(one).count(".") == 1]:
                added[-1]["device_trackers"] = trackers
            self._draft.section("people").item(added[-1])
            why = phrase("presence, chat accounts and sign-in are added on the page People")
            self.move.add(MoveItem("person", name, Verdict.TAKEN, (why,), to="people"))
        self._judge.know_people(added)

    def _labels_floors_areas(self) -> None:
        registries = self._judge.registries
        labels = self._places("label", "core.label_registry", "labels", "label_id", registries.labels, {}, {})
        floors = self._places("floor", "core.floor_registry", "floors", "floor_id", registries.floors, {}, {})
        self._places("area", "core.area_registry", "areas", "id", registries.areas, floors, labels)
        self._judge.know_places(self._new_places)

    def _places(
        self,
        kind: str,
        file: str,
        key: str,
        id_key: str,
        present: Iterable[Any],
        floors: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> dict[str, str]:
        """Add the labels, floors or areas; return the id that each has here, by that which it has there."""
        known = {each.id: each.id for each in present} | {each.name.casefold(): each.id for each in present}
        here: dict[str, str] = {}
        for each in self._theirs.stored_items(file, key):
            name, theirs = " ".join(str(each.get("name") or "").split())[:100], str(each.get(id_key) or "")
            if not name:
                continue
            id = slugify(theirs) or slugify(name) or kind
            if found := known.get(id) or known.get(name.casefold()):
                here[theirs] = found
                self.move.add(MoveItem(kind, name, Verdict.THERE))
                continue
            known |= {id: id, name.casefold(): id}
            here[theirs] = id
            level, own = each.get("level"), each.get("labels")
            new = NewPlace(
                kind,
                id,
                name,
                tuple(str(alias)[:100] for alias in each.get("aliases") or () if alias)[:20],
                level if isinstance(level, int) and abs(level) < 1_000 else None,
                floors.get(str(each.get("floor_id"))),
                frozenset(labels[label] for label in (own if isinstance(own, list) else ()) if label in labels),
            )
            self._new_places.append(new)
            self.move.add(MoveItem(kind, name, Verdict.TAKEN))
        return here

    # -- files ------------------------------------------------------------------------------------------------------

    def _blueprints(self) -> None:
        for name in self._theirs.files_below("blueprints", (".yaml", ".yml")):
            domain = name.split("/")[1] if name.count("/") > 1 else ""
            if domain not in ("automation", "script"):
                why = phrase("there are blueprints of automations and of scripts here")
                self.move.add(MoveItem("blueprint", name, Verdict.LEFT, (why,), name))
                continue
            try:
                data = self._theirs.root.read_bytes(name, BLUEPRINT_LIMIT_BYTES)
                read_blueprint(data.decode("utf-8-sig").replace("\r\n", "\n"), name)
            except BlueprintInvalid as error:
                first = error.errors[0] if getattr(error, "errors", None) else None
                line = first.line if first is not None else 0
                self.move.add(MoveItem("blueprint", name, Verdict.REFUSED, (said(error.message),), name, line))
                continue
            except (OSError, HubError, UnicodeDecodeError) as error:
                self.move.add(MoveItem("blueprint", name, Verdict.REFUSED, (_why(error),), name))
                continue
            self._copied("blueprint", name, data)
            self._judge.blueprint(name, data)

    def _templates(self) -> None:
        for name in self._theirs.files_below("custom_templates", (".jinja",)):
            try:
                data = self._theirs.root.read_bytes(name, TEMPLATE_LIMIT_BYTES)
            except (OSError, HubError) as error:
                self.move.add(MoveItem("template", name, Verdict.REFUSED, (_why(error),), name))
                continue
            self._copied("template", name, data)

    def _copied(self, kind: str, name: str, data: bytes) -> None:
        there = self._draft.text_of(name) is not None
        if self._draft.file(name, data):
            self.move.add(MoveItem(kind, name, Verdict.THERE if there else Verdict.TAKEN, file=name, to=name))
        else:
            why = phrase("there is another file of that name here")
            self.move.add(MoveItem(kind, name, Verdict.LEFT, (why,), name))

    # -- automations and scripts ---------------------------------------------------------------------------------------

    def _scripts(self) -> None:
        found = self._theirs.data.get("script")
        if not isinstance(found, ConfigMapping):
            return
        self._judge.know_scripts(str(key) for key in found)
        present = self._draft.raw.get("script") or {}
        for key, given in found.items():
            mark = found.key_marks[key]
            name = str(given.get("alias") or key) if isinstance(given, Mapping) else str(key)
            if key in present:
                self.move.add(MoveItem("script", name, Verdict.THERE, file=place(mark)[0], line=place(mark)[1]))
                continue
            body = found.value_marks[key]
            text, _, last = self._theirs.text_at(body, is_item=False)
            value = given
            judged = self._judge.script(str(key), value, mark)
            if self._taken("script", name, value, mark, last, judged, f"script.{key}"):
                self._draft.section("script").entry(str(key), _written(value), text)

    def _automations(self) -> None:
        found = self._theirs.data.get("automation")
        if not isinstance(found, ConfigList):
            return
        present = [each for each in self._draft.raw.get("automation") or () if isinstance(each, Mapping)]
        known = {_identity(each) for each in present}
        for given, mark in zip(found, found.marks, strict=True):
            if not isinstance(given, Mapping):
                if given is not None:
                    file, line, _ = place(mark)
                    why = self._unread(file, line, line) or (phrase("an automation is a mapping"),)
                    self.move.add(MoveItem("automation", "?", Verdict.REFUSED, why, file, line))
                continue
            id = _identity(given)
            name = str(given.get("alias") or given.get("id") or "?")
            file, line, _ = place(mark)
            if id in known:
                self.move.add(MoveItem("automation", name, Verdict.THERE, file=file, line=line))
                continue
            known.add(id)
            text, above, last = self._theirs.text_at(mark, is_item=True)
            value = given
            judged = self._judge.automation(value, mark)
            if self._taken("automation", name, value, mark, last, judged, f"automation.{slugify(name)}"):
                written = _written(value)
                if self._off and written.get("initial_state") is not False:
                    written = {**{key: each for key, each in written.items() if key != "initial_state"}}
                    written["initial_state"] = False
                    has_state = "initial_state" in value
                    text = None if has_state or text is None else f"{text}initial_state: false\n"
                self._draft.section("automation").item(written, text, above)

    def _taken(self, kind: str, name: str, value: Any, mark: Mark, last: int, judged: Judgement, to: str) -> bool:
        """Add the item of an automation or a script; return whether it comes along."""
        file, line, _ = place(mark)
        unread = self._unread(file, line, last) if has_broken(value) else ()
        if has_broken(value) or judged.errors:
            lines = {each.line for each in self._theirs.errors_in(file, line, last)} if unread else set()
            why = _few([*unread, *(_told(each) for each in judged.errors if each.line not in lines)])
            at = judged.errors[0].line if judged.errors and judged.errors[0].file == file else line
            self.move.add(MoveItem(kind, name, Verdict.REFUSED, why, file, at))
            return False
        missing = [each for each in _secrets_in(value) if not self._comes(each)]
        if missing:
            why = tuple(phrase("it uses the secret {name}, which does not come along", name=each) for each in missing)
            self.move.add(MoveItem(kind, name, Verdict.LEFT, why, file, line))
            return False
        self._phones.look(name, value)
        waits = _few(self._named(each) for each in judged.warnings)
        self.move.add(MoveItem(kind, name, Verdict.WAITS if waits else Verdict.TAKEN, waits, file, line, to))
        return True

    def _named(self, warning: ConfigError) -> Phrase:
        """Return a warning, with the name that a registry id has there."""
        for id in REGISTRY_ID.findall(str(warning.message)):
            if entity := self._names.get(id):
                return phrase("nothing in this home provides {entity}", entity=entity)
        return said(warning.message)

    def _comes(self, name: str) -> bool:
        """Whether a secret is here, or comes along."""
        if name in self._asked:
            return self._asked[name]
        theirs = self._theirs.secrets.get(name)
        if theirs is None:
            return self._draft.has_secret(name)
        comes = self._secrets and self._draft.secret(name, theirs.reveal())
        self._asked[name] = comes
        return comes

    def _unread(self, file: str, first: int, last: int) -> tuple[Phrase, ...]:
        return tuple(_told(each) for each in self._theirs.errors_in(file, first, last))

    # -- helpers, and what does not exist here -----------------------------------------------------------------------

    def _helpers(self) -> None:
        taken: dict[str, dict[str, Any]] = {}
        for each in their_helpers(self._theirs):
            listed = is_list(each.domain)
            kind = each.domain if each.domain in ("scene", "zone") else "helper"
            present = self._draft.raw.get(each.domain) or ()
            ours = {slugify(str(one.get("name") or "")) for one in present} if listed else set(present)
            mine = taken.setdefault(each.domain, {})
            if each.key in ours or each.key in mine:
                self.move.add(MoveItem(kind, each.id, Verdict.THERE, file=each.file, line=each.line))
                continue
            judged = self._judge.helper(each.domain, each.key, each.value, each.mark, listed=listed)
            if each.file.startswith(".storage/"):
                why = _few(said(error.message) for error in judged.errors)
                verdict = Verdict.REFUSED if judged.errors else Verdict.TAKEN
                self.move.add(MoveItem(kind, each.id, verdict, why, each.file, to=each.domain))
                if judged.errors:
                    continue
            elif not self._taken(kind, each.id, each.value, each.mark, each.last, judged, each.domain):
                continue
            mine[each.key] = each.value
            self._held.take(each.domain, each.key, each.value if isinstance(each.value, Mapping) else {})
            section, value = self._draft.section(each.domain), plain(each.value)
            if listed:
                section.item(value, each.text)
            else:
                section.entry(each.key, value, each.text)
        for domain, values in taken.items():
            self._judge.know_helpers(domain, values, listed=is_list(domain))

    def _template_entities(self) -> None:
        taken: dict[str, list[Any]] = {}
        for each in (*their_templates(self._theirs), *their_platforms(self._theirs)):
            mine = taken.setdefault(each.section, [])
            value = plain(each.value)
            if value in [plain(one) for one in self._draft.raw.get(each.section) or ()]:
                self.move.add(MoveItem("helper", each.name, Verdict.THERE, file=each.file, line=each.line))
                continue
            judged = self._judge.helper(each.section, "", each.value, each.mark, listed=True)
            if each.file.startswith(".storage/"):
                why = _few(said(error.message) for error in judged.errors)
                verdict = Verdict.REFUSED if judged.errors else Verdict.TAKEN
                self.move.add(MoveItem("helper", each.name, verdict, why, each.file, to=each.section))
                if judged.errors:
                    continue
            elif not self._taken("helper", each.name, each.value, each.mark, each.last, judged, each.section):
                continue
            mine.append(each.value)
            self._held.take(each.section, "", each.value)
            self._draft.section(each.section).item(value, each.text)
        for section, values in taken.items():
            self._judge.know_helpers(section, {str(place): each for place, each in enumerate(values)}, listed=True)

    def _commands(self) -> None:
        """Bring `shell_command:` and `rest_command:`; the former run here under the rules of exec."""
        for domain in COMMANDS:
            found: Any = self._theirs.data.get(domain)
            taken: dict[str, Any] = {}
            present = self._draft.raw.get(domain) or {}
            for key, value in found.items() if isinstance(found, ConfigMapping) else ():
                mark = found.value_marks[key]
                text, _, last = self._theirs.text_at(mark, is_item=False)
                file, line, _ = place(mark)
                if key in present:
                    self.move.add(MoveItem("command", f"{domain}.{key}", Verdict.THERE, file=file, line=line))
                    continue
                judged = self._judge.helper(domain, str(key), value, mark, listed=False)
                if self._taken("command", f"{domain}.{key}", value, mark, last, judged, domain):
                    taken[str(key)] = value
                    self._draft.section(domain).entry(str(key), plain(value), text)
            self._judge.know_helpers(domain, taken, listed=False)

    def _mqtt(self) -> None:
        for each in self._theirs.stored_items("core.config_entries", "entries"):
            data = each.get("data")
            if each.get("domain") != "mqtt" or not isinstance(data, Mapping):
                continue
            broker, file = str(data.get("broker") or ""), ".storage/core.config_entries"
            if "mqtt" in self._draft.raw:
                self.move.add(MoveItem("mqtt", broker, Verdict.THERE, file=file))
                return
            if broker == _OWN_HOST or not broker:
                why = phrase("this is a name within Home Assistant OS; write mqtt: with the address of that machine")
                self.move.add(MoveItem("mqtt", broker, Verdict.LEFT, (why,), file))
                return
            section = self._draft.section("mqtt")
            section.entry("broker", broker)
            if isinstance(data.get("port"), int):
                section.entry("port", data["port"])
            if data.get("username") and data.get("password"):
                self._asked["mqtt_password"] = self._secrets and self._draft.secret(
                    "mqtt_password", str(data["password"])
                )
                if self._asked["mqtt_password"]:
                    section.entry("username", str(data["username"]))
                    section.entry("password", Secret("", "!secret mqtt_password"))
                else:
                    why = phrase("its password does not come along; write username and password below mqtt:")
                    self.move.add(MoveItem("mqtt", broker, Verdict.WAITS, (why,), file, to="mqtt"))
                    return
            self.move.add(MoveItem("mqtt", broker, Verdict.TAKEN, file=file, to="mqtt"))
            return

    def _others(self) -> None:
        """Name what else there is: sections of YAML, and integrations that were added in the browser."""
        data = self._theirs.data
        for name in data:
            domain = name.split(" ")[0]
            is_told = domain in PLATFORM_SECTIONS and all(
                is_template(domain, each) or is_ours(domain, each) for each, _ in _listed(data[name])
            )
            if domain not in PARTS_OF_THEIRS and data[name] is not None and not is_told:
                file, line, _ = place(data.key_marks[name])
                self.move.add(MoveItem("section", name, Verdict.LEFT, (section_way(domain),), file, line))
        seen: dict[str, list[str]] = {}
        for each in self._theirs.stored_items("core.config_entries", "entries"):
            domain = str(each.get("domain"))
            if domain not in (*PARTS_OF_THEIRS, *MADE, "mqtt") and each.get("source") != "ignore":
                seen.setdefault(domain, []).append(str(each.get("title") or domain))
        for domain, titles in sorted(seen.items()):
            name = f"{domain} ({len(titles)})" if len(titles) > 1 else domain
            file = ".storage/core.config_entries"
            self.move.add(MoveItem("integration", name, Verdict.LEFT, (way_of(domain),), file))
        dashboards = list(self._theirs.files_below(".storage", ()))
        boards = [each for each in dashboards if each.startswith(".storage/lovelace.")]
        for board in boards:
            why = phrase("the pages of this home are made of its rooms; put what you look at most on Home")
            self.move.add(MoveItem("dashboard", board.removeprefix(".storage/"), Verdict.LEFT, (why,), board))

    def _unreadable(self) -> None:
        """Add what could not be read of what would come along, and belongs to nothing above."""
        told = {reason for each in self.move.items for reason in each.reasons}
        for each in self._theirs.errors:
            if _told(each) not in told and _section_of(each) in _READ:
                name = each.path or each.file
                self.move.add(MoveItem("file", name, Verdict.REFUSED, (_told(each),), each.file, each.line))


_COMING = (Verdict.TAKEN, Verdict.WAITS)
_READ = frozenset({"", "automation", "script", "scene", "person", "packages", *HELPERS, *LATER_SECTIONS})


def _section_of(error: ConfigError) -> str:
    """Return the section that an error is in, also within a package."""
    keys = [str(each) for each in error.keys]
    if keys[:2] == ["homeassistant", "packages"]:
        keys = keys[3:] or ["packages"]
    return keys[0].split(" ")[0] if keys else ""


def _identity(value: Mapping[str, Any]) -> str:
    return str(value["id"]) if value.get("id") else f"alias:{slugify(str(value.get('alias') or ''))}"


def _fits(key: str, value: Any) -> bool:
    if key in ("latitude", "longitude", "elevation"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str) and (key != "time_zone" or value in available_timezones()) and len(value) <= 100


def _written(value: Any) -> dict[str, Any]:
    found = plain(value)
    return found if isinstance(found, dict) else {}


def _secrets_in(value: Any) -> Iterator[str]:
    if isinstance(value, Secret):
        yield str(value.source).removeprefix("!secret ")
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _secrets_in(each)


def _listed(value: Any) -> Iterator[tuple[Mapping[str, Any], Mark]]:
    if isinstance(value, ConfigList):
        yield from ((each, mark) for each, mark in zip(value, value.marks, strict=True) if isinstance(each, Mapping))
    elif isinstance(value, ConfigMapping):
        yield value, value.mark


def _told(error: ConfigError) -> Phrase:
    if error.hint:
        return phrase("line {line}: {message} ({hint})", line=error.line, message=error.message, hint=error.hint)
    return phrase("line {line}: {message}", line=error.line, message=error.message)


def _few(reasons: Iterable[Phrase]) -> tuple[Phrase, ...]:
    """Return reasons once each, and how many more there are."""
    found = list(dict.fromkeys(reasons))
    if len(found) <= REASONS_LIMIT:
        return tuple(found)
    return (*found[:REASONS_LIMIT], phrase("and {count} more", count=len(found) - REASONS_LIMIT))


def _why(error: Exception) -> Phrase:
    if isinstance(error, HubError):
        return said(error.message)
    return said(str(getattr(error, "strerror", None) or error))
