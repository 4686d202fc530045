"""The words of the demo home in one language: its people, the names of its things, what is said and answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

import msgspec
from msgspec import Struct

HERE = Path(__file__).parent
LANGUAGES = ("en", "zh-CN")
_WORD = re.compile(r"[a-z0-9/]+")
FILES = ("configuration.yaml", "automations.yaml", "scripts.yaml")


class DemoPerson(Struct, frozen=True):
    """A person of the home, and the number of their account in the chat app."""

    id: str
    name: str
    telegram: int


class Step(Struct, frozen=True):
    """A tool that the model calls before it answers."""

    tool: str
    arguments: Mapping[str, Any]


class Answer(Struct, frozen=True):
    """What the model does and says.

    Attributes:
        asks: Words of which a message must have all of one group, joined by a space; Chinese ones anywhere in it.
        says: The answer; `{sensor.kitchen_temperature}` is a state.
        otherwise: The answer when a step failed or was not allowed.
        fails: Whether the first model is overloaded when it is asked this.
    """

    asks: tuple[str, ...]
    says: str
    steps: tuple[Step, ...] = ()
    otherwise: str = ""
    fails: bool = False

    def knows(self, text: str) -> bool:
        """Whether it is the answer to a message."""
        folded = text.casefold()
        words = {*_WORD.findall(folded)}
        return any(
            all(word in words if word.isascii() else word in folded for word in group.split()) for group in self.asks
        )


class Talk(Struct, frozen=True):
    """A conversation of the past.

    Attributes:
        days: How many days ago.
        at: Time of day.
        who: The speaker.
        says: Their messages, in order.
        title: Its title; one without goes to the chat app.
        agent: The answering agent.
        verdict: The owner's answer when it asks for an approval.
        pinned: Whether it stays above the others.
    """

    days: int
    at: str
    who: str
    says: tuple[str, ...]
    title: str = ""
    agent: str = "main"
    verdict: str = "allow"
    pinned: bool = False


class Fact(Struct, frozen=True):
    """Something that was remembered so many days ago."""

    days: int
    kind: str
    text: str


class Reminder(Struct, frozen=True):
    """A reminder: a number of days from today, at a time of day."""

    days: int
    at: str
    text: str


class Stranger(Struct, frozen=True):
    """Somebody who asks to write."""

    telegram: int
    name: str
    says: str


class Story(Struct, frozen=True):
    """All of it.

    Attributes:
        names: The names of the areas and entities, by the second half of their ids, and of states.
        words: The words of the configuration and the automations.
        files: Workspace files.
        waits: The last question, which waits for the owner.
        general: The model's answer when it knows no better.
    """

    language: str
    home: str
    bot: str
    people: tuple[DemoPerson, ...]
    names: Mapping[str, str]
    words: Mapping[str, str]
    files: Mapping[str, str]
    answers: tuple[Answer, ...]
    talks: tuple[Talk, ...]
    facts: tuple[Fact, ...]
    reminders: tuple[Reminder, ...]
    stranger: Stranger
    waits: Talk
    general: str

    def person(self, id: str) -> DemoPerson:
        """Return a person."""
        return next(each for each in self.people if each.id == id)


def read_story(language: str) -> Story:
    """Return the story in a language, or in English."""
    known = language if language in LANGUAGES else LANGUAGES[0]
    return msgspec.json.decode((HERE / "story" / f"{known}.json").read_bytes(), type=Story)


def home_files(story: Story, zone: str) -> dict[str, str]:
    """Return the configuration of the home: the text of each file, by name."""
    words = {**story.words, "home": story.home, "language": story.language, "zone": zone}
    words |= {f"name_{each.id}": each.name for each in story.people}
    return {name: Template((HERE / "home" / name).read_text(encoding="utf-8")).substitute(words) for name in FILES}
