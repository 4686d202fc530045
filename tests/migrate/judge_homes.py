"""Measures how much of Home Assistant configurations runs here: `script/judge-home-assistant FOLDER…`."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from hub.cli.configured import sections_of
from hub.config.marks import plain
from hub.config.seed import seed
from hub.core.errors import HubError
from hub.core.phrases import Phrase
from hub.entities.domains import DOMAINS
from hub.entities.entries import DeviceEntry, EntityEntry, RegistryData
from hub.entities.helpers.table import HELPERS
from hub.entities.registry import FILE, VERSION
from hub.migrate.home_assistant.moving import plan_home_assistant
from hub.migrate.home_assistant.their_files import TheirHome
from hub.migrate.plan import Move, MoveItem, Verdict
from hub.storage.homedir import Home
from integrations.devices.home_assistant.services import EVENTS, OF_THEIRS, OURS

_MADE_HERE = frozenset({*HELPERS, "automation", "script", "person"}) - {"scene"}
"""Domains whose entities come from the configuration or from helpers, never from a device."""
_ENTITY = re.compile(r"\b(?:[a-z_]+\.[a-z0-9_]+|[0-9a-f]{32})\b")


class Tally(Struct):
    """What was found in one home, or in all.

    Attributes:
        found: Automations.
        loaded: Those that run here.
        alone: Of these, those that name something which nothing provides while no device is here yet.
        bridged: Those that still do when every device of theirs is here, by the bridge or MQTT.
        unpublished: Of these, those that name only helpers made in the browser, which the folder leaves out.
    """

    found: int = 0
    loaded: int = 0
    alone: int = 0
    bridged: int = 0
    unpublished: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count another home."""
        for name in ("found", "loaded", "alone", "bridged", "unpublished"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.refused += other.refused
        self.missing += other.missing


def judge(folder: Path, *, details: bool = False) -> Tally:
    """Return what a folder's automations would do in a new home, with and without its devices.

    Args:
        folder: With `configuration.yaml`.
        details: Whether every automation that does not simply run is printed.

    Raises:
        HubError: It is not the configuration of a Home Assistant.
    """
    with tempfile.TemporaryDirectory(prefix="homarus-theirs-") as name:
        copy = _with_secrets(folder, Path(name) / "home")
        theirs = TheirHome(copy)
        alone = _judged(_moved(copy, RegistryData(), set()))
        bridged = _judged(_moved(copy, _devices(theirs), _services(theirs)))
    tally = Tally(
        len(bridged), _count(bridged, _RUNS), _count(alone, {Verdict.WAITS}), _count(bridged, {Verdict.WAITS})
    )
    for each in bridged:
        if each.verdict is Verdict.REFUSED:
            tally.refused.update({_kind(each.reasons[0]) if each.reasons else "?"})
        elif each in _waiting([each]):
            tally.missing.update({_kind(reason) for reason in each.reasons})
            tally.unpublished += all(_is_unpublished(reason) for reason in each.reasons)
        if details and each.verdict in (Verdict.REFUSED, Verdict.WAITS, Verdict.LEFT):
            print(f"  {each.verdict.value}: {each.file}:{each.line} {each.name}: {'; '.join(map(str, each.reasons))}")
    return tally


def _judged(move: Move) -> list[MoveItem]:
    """Return the automations of a plan, except those whose blueprint the folder lacks: they run nowhere."""
    items = [each for each in move.items if each.kind == "automation"]
    return [each for each in items if not any("there is no blueprint" in str(reason) for reason in each.reasons)]


def _with_secrets(folder: Path, copy: Path) -> Path:
    """Copy what a plan reads of a folder, and make up the secrets that are not published with it."""
    shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    named: set[str] = set()
    for path in copy.rglob("*.yaml"):
        if path.is_file():
            named.update(_SECRET.findall(path.read_text(encoding="utf-8", errors="replace")))
    file = copy / "secrets.yaml"
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    known = set(re.findall(r"^([^\s#:]+)\s*:", text, re.MULTILINE))
    more = "".join(f"{each}: {_made_up(each, index)}\n" for index, each in enumerate(sorted(named - known)))
    file.write_text(f"{text}\n{more}", encoding="utf-8")
    return copy


def _made_up(name: str, index: int) -> str:
    return str(10 + index % 40) if re.search("lat|lon|elevation", name) else f"made_up_{index}"


_LEFT_OUT = (".git", "www", "custom_components", "node_modules", "deps", "tts", "*.db", "*.log", "*.png", "*.jpg")
_SECRET = re.compile(r"!secret\s+['\"]?([\w.-]+)")
_RUNS = frozenset({Verdict.TAKEN, Verdict.WAITS, Verdict.THERE})


def _waiting(items: Iterable[MoveItem]) -> list[MoveItem]:
    """Return those that name something which nothing provides."""
    return [each for each in items if each.verdict is Verdict.WAITS and not all(map(_names_nothing, each.reasons))]


def _count(items: Iterable[MoveItem], verdicts: Iterable[Verdict]) -> int:
    return sum(each.verdict in verdicts for each in items)


def _moved(folder: Path, registries: RegistryData, services: Iterable[str]) -> Move:
    """Return the plan of moving a folder into a new home that has these registries and services."""
    with tempfile.TemporaryDirectory(prefix="homarus-judge-") as name:
        home = Path(name)
        seed(Home(home))
        with (home / "configuration.yaml").open("a", encoding="utf-8") as file:
            file.write("\nhome_assistant: {url: http://127.0.0.1:8123, token: a-token-of-theirs}\n")
            file.write("mqtt: {broker: 127.0.0.1}\n")
        (home / FILE).parent.mkdir(parents=True, exist_ok=True)
        (home / FILE).write_bytes(msgspec.json.encode({"version": VERSION, "data": registries}))
        if services:
            provides = home / ".storage/integrations/home_assistant/provides.json"
            provides.parent.mkdir(parents=True, exist_ok=True)
            provides.write_bytes(msgspec.json.encode({"services": sorted(services), "events": EVENTS}))
        return plan_home_assistant(folder, home, sections_of(home), secrets=True, switched_off=False)


def _devices(theirs: TheirHome) -> RegistryData:
    """Return the registries as they are once devices are here.

    Where the folder has `.storage`, these are the entities of its registry. A public folder leaves it out: there, what
    automations name in the domains of devices counts as a device of theirs, and whatever is made by configuration or
    in the browser does not.
    """
    stored = theirs.stored_items("core.entity_registry", "entities")
    names = {str(each.get("entity_id")): str(each.get("id") or "") for each in stored}
    if not names:
        texts = list(_texts([theirs.data.get("automation"), theirs.data.get("script")]))
        found = {each for text in texts for each in _ENTITY.findall(text)}
        names = {id: "" for id in found if _is_of_a_device(id)}
        ids = [id for id in found if "." not in id]
    else:
        ids = [str(each.get("id")) for each in theirs.stored_items("core.device_registry", "devices")]
    entities = [EntityEntry(id, "home_assistant", unique or id) for id, unique in sorted(names.items())]
    entities += [EntityEntry(f"sensor.id_{id}", "home_assistant", id) for id in ids if not stored]
    devices = [DeviceEntry(id, "home_assistant", frozenset({id})) for id in sorted(ids)]
    return RegistryData(entities=entities, devices=devices)


def _services(theirs: TheirHome) -> set[str]:
    """Return the services that their integrations have: those that automations call, and neither they nor we define.

    What a section of theirs defines does not count, since it is to be defined here.
    """
    found: set[str] = set()
    for each in _mappings([theirs.data.get("automation"), theirs.data.get("script")]):
        for key in ("action", "service"):
            if isinstance(name := each.get(key), str) and _SERVICE.fullmatch(name):
                found.add(name)
    return {each for each in found if each.partition(".")[0] not in _NOT_BRIDGED or each in OF_THEIRS}


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _mappings(each)


_SERVICE = re.compile(r"[a-z0-9_]+\.[a-z0-9_]+")
_NOT_BRIDGED = OURS | {*HELPERS, "logbook", "shell_command", "rest_command"}


def _is_of_a_device(id: str) -> bool:
    domain = id.partition(".")[0]
    return (domain in DOMAINS or domain in _OF_DEVICES) and domain not in _MADE_HERE


_OF_DEVICES = frozenset(
    {
        *("air_quality", "binary_sensor", "camera", "conversation", "device_tracker", "event", "geo_location", "image"),
        *("image_processing", "remote", "scene", "sensor", "stt", "tts", "wake_word", "weather", "calendar", "todo"),
        *("assist_satellite", "plant", "proximity"),
    }
)
"""Domains of entities that integrations of theirs bring, beside those that can be used here."""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield str(plain(value))


def _is_unpublished(reason: object) -> bool:
    """Whether it is about what is made in the browser, which lies in `.storage`: helpers, persons, rooms, the place."""
    values: Mapping[str, Any] = getattr(reason, "values", {})
    if "there is no {kind}" in str(getattr(reason, "template", "")):
        return True
    entity = str(values.get("entity", ""))
    return entity.partition(".")[0] in _MADE_HERE


def _names_nothing(reason: object) -> bool:
    """Whether it is a warning of another sort than a name that nothing provides."""
    template = str(getattr(reason, "template", ""))
    return any(each in template for each in ("this webhook answers", "does nothing without", "nothing is both above"))


def _kind(reason: Any) -> str:
    """Return what a reason is about, without the names of one home."""
    values: Mapping[str, Any]
    template, values = str(getattr(reason, "template", "")), getattr(reason, "values", {})
    while isinstance(inner := values.get("message"), Phrase) and inner.template:
        template, values = inner.template, inner.values
    told = dict(values)
    if "entity" in told:
        told["entity"] = f"{str(told['entity']).partition('.')[0]}.…"
    if "no service" in template:
        told["name"] = _short_service(str(told["name"]))
    for key in ("line", "hint", "path", "id", "value", "expected"):
        if key in told:
            told[key] = "…"
    try:
        return template.format(**told)[:160] if template else re.sub(r"line \d+: ", "", str(reason))[:160]
    except (KeyError, IndexError):
        return template


def _short_service(name: str) -> str:
    domain = name.partition(".")[0]
    return f"{domain}.…" if domain in ("notify", "tts", "shell_command", "rest_command", "python_script") else name


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _row(name: str, tally: Tally) -> str:
    loaded = tally.loaded
    return (
        f"{name[:40]:<40} {tally.found:>6} {_share(loaded, tally.found):>8} {_share(tally.alone, loaded):>9} "
        f"{_share(tally.bridged, loaded):>9} {_share(tally.bridged - tally.unpublished, loaded):>9}"
    )


def _sentences(whole: Tally) -> str:
    """Return what the table says, for somebody who did not write it."""
    loaded, own = whole.loaded, whole.bridged - whole.unpublished
    return (
        f"Of {whole.found} automations {_share(loaded, whole.found)} load: they run here as they are (goal: 98 %).\n"
        "Of those that load, name something that nothing here provides:\n"
        f"  {_share(whole.alone, loaded):>7}  alone: in a home without a device yet, so that every lamp is missing;\n"
        f"  {_share(whole.bridged, loaded):>7}  bridged: once their devices are here, by the bridge or MQTT;\n"
        f"  {_share(own, loaded):>7}  of these*: without those that name only what was made in the browser (helpers,\n"
        "           persons, rooms, the place), which a published folder leaves out and a real one brings (goal: 3 %)."
    )


def main(arguments: list[str]) -> int:
    """Judge folders and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+", type=Path, help="with a configuration.yaml, or folders of such")
    parser.add_argument("--details", action="store_true", help="print each automation that does not simply run")
    parser.add_argument("--reasons", type=int, default=40, metavar="N", help="how many reasons are printed")
    given = parser.parse_args(arguments)
    print(f"{'home':<40} {'found':>6} {'loaded':>8} {'alone':>9} {'bridged':>9} {'of these*':>9}")
    whole = Tally()
    for name, folder in _homes(given.folder):
        try:
            tally = judge(folder, details=given.details)
        except HubError as error:
            print(f"{folder}: {error.message}", file=sys.stderr)
            continue
        print(_row(name, tally), flush=True)
        whole.add(tally)
    print(_row("all", whole))
    print(f"\n{_sentences(whole)}\n")
    for title, counted in (("refused", whole.refused), ("named, and not provided", whole.missing)):
        print(f"{title}:")
        for reason, count in counted.most_common(given.reasons):
            print(f"  {count:>5}  {reason}")
    return 0


def _homes(folders: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the folders that are configurations, with a name: each given one, or the first of each folder in it."""
    for each in folders:
        if (each / "configuration.yaml").is_file():
            yield each.resolve().name, each
            continue
        found = sorted(each.rglob("configuration.yaml"), key=lambda path: (len(path.parts), path))
        taken: set[str] = set()
        for path in found:
            home = path.relative_to(each).parts[0]
            if home not in taken and "esphome" not in path.parts:
                taken.add(home)
                yield home, path.parent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
