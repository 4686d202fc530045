"""The plan of a move: each thing that was found, what happens to it and why, and the changes that bring it over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from hub.core.phrases import Phrase, phrase_from_data

AnyStruct = TypeVar("AnyStruct", bound=Struct)

ITEMS_LIMIT = 20_000
"""Things in one plan."""


class Verdict(StrEnum):
    """What happens to a thing."""

    TAKEN = "taken"
    """It comes along and runs as it is."""
    WAITS = "waits"
    """It comes along, and runs when what it needs is here."""
    THERE = "there"
    """It is here already, and stays as it is here."""
    LEFT = "left"
    """There is nothing here that it could become."""
    REFUSED = "refused"
    """It is not valid here, or cannot be read."""


class MoveItem(Struct, frozen=True, omit_defaults=True):
    """A thing that was found.

    Attributes:
        kind: Its kind, such as `automation`.
        name: For people.
        reasons: Why it waits, is left or refused; sentences.
        file, line: Where it is written there; no line for a whole file.
        to: Where it comes here.
    """

    kind: str
    name: str
    verdict: Verdict
    reasons: tuple[Phrase, ...] = ()
    file: str = ""
    line: int = 0
    to: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The item as the gateway, `--json` and the dashboard show it."""
        return {
            "kind": self.kind,
            "name": self.name,
            "verdict": self.verdict.value,
            "reasons": [str(each) for each in self.reasons],
            "phrases": [each.as_data() for each in self.reasons],
            "file": self.file,
            "line": self.line,
            "to": self.to,
        }


class NewFile(Struct, frozen=True):
    """A file that is written, whole.

    Attributes:
        name: Below the home directory.
        data: Its content.
        base: Hash of the content that it replaces; None when there is no such file.
    """

    name: str
    data: bytes
    base: str | None = None


class NewPlace(Struct, frozen=True, omit_defaults=True):
    """A label, floor or area that is added to the registry, under the id by which automations name it."""

    kind: str
    id: str
    name: str
    aliases: tuple[str, ...] = ()
    level: int | None = None
    floor_id: str | None = None
    labels: frozenset[str] = frozenset()

    @property
    def fields(self) -> dict[str, Any]:
        """What the registry keeps beside the name."""
        match self.kind:
            case "label":
                return {}
            case "floor":
                return {"aliases": self.aliases, "level": self.level}
        return {"aliases": self.aliases, "floor_id": self.floor_id, "labels": self.labels}


class NewSession(Struct, frozen=True):
    """A conversation that is added.

    Attributes:
        key: A full session key.
        agent: Its agent.
        title: Its title; empty for none.
        file: The file with its messages, in the folder of the move: a JSON line each.
        archived: Whether it is put away.
    """

    key: str
    agent: str
    title: str
    file: str
    archived: bool = True


class Changes(Struct):
    """What is written.

    Attributes:
        files: In the order of writing: what others refer to first.
        edits: Keys that are set in the root file, beside the package, for an undo after it was changed again.
        secrets: Names that are added to secrets.yaml.
        places: What others refer to first.
    """

    files: list[NewFile] = field(default_factory=list)
    edits: list[tuple[str | int, ...]] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    places: list[NewPlace] = field(default_factory=list)
    sessions: list[NewSession] = field(default_factory=list)

    @property
    def any(self) -> bool:
        """Whether anything is written."""
        return bool(self.files or self.places or self.sessions)


class Move(Struct):
    """A plan with its changes.

    Attributes:
        source: `home-assistant`, `openclaw`, `claude` or `chatgpt`.
        path: The folder or file.
        notes: What a person should know before, sentences.
        errors: What would be wrong with the configuration then; with any, nothing is done.
    """

    source: str
    path: str
    items: list[MoveItem] = field(default_factory=list)
    notes: list[Phrase] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)

    def add(self, item: MoveItem) -> None:
        """Add a thing, up to the limit."""
        if len(self.items) < ITEMS_LIMIT:
            self.items.append(item)

    @property
    def digest(self) -> str:
        """A hash of what would be written: what was shown is what is done."""
        return sha256(msgspec.json.encode(self.changes)).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The plan as the gateway, `--json` and the dashboard show it; without the content of files."""
        changes = self.changes
        return {
            "source": self.source,
            "path": self.path,
            "digest": self.digest,
            "counts": counts(self.items),
            "items": [each.as_dict() for each in self.items],
            "errors": self.errors,
            "notes": [str(each) for each in self.notes],
            "notePhrases": [each.as_data() for each in self.notes],
            "writes": {
                "files": [each.name for each in changes.files],
                "secrets": changes.secrets,
                "areas": [each.name for each in changes.places],
                "sessions": len(changes.sessions),
            },
        }


def counts(items: list[MoveItem]) -> dict[str, Mapping[str, int]]:
    """Return how many of each kind have which verdict."""
    found: dict[str, Counter[str]] = {}
    for each in items:
        found.setdefault(each.kind, Counter())[each.verdict.value] += 1
    return {kind: dict(each) for kind, each in found.items()}


def said(text: str) -> Phrase:
    """Return a text as a phrase; one that no catalogue translates if it is none yet."""
    return text if isinstance(text, Phrase) else Phrase(text)


def encoded(answer: Struct) -> bytes:
    """Return a struct with phrases as JSON."""
    return msgspec.json.encode(answer, enc_hook=_phrase_data)


def decoded(data: bytes, kind: type[AnyStruct]) -> AnyStruct:
    """Read the result of `encoded`.

    Raises:
        MsgspecError: It is not one.
    """
    return msgspec.json.decode(data, type=kind, dec_hook=_phrase_of)


def _phrase_data(value: Any) -> Any:
    if isinstance(value, Phrase):
        return {"plain": str(value), **value.as_data()}
    raise TypeError(type(value).__name__)


def _phrase_of(kind: type, value: Any) -> Any:
    return said(phrase_from_data(str(value["plain"]), value))
