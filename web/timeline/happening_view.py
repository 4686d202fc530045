"""Happenings as pages show them: words for readers, icons, and the numbers in their units."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from hub.core.phrases import Phrase, phrase, phrase_from_data
from web.automations.entity_names import EntityNames
from web.automations.trigger_texts import fired_text
from web.core.durations import duration_text
from web.core.formats import model_name, money
from web.core.moments import time_of_day, title
from web.core.render import Renderer
from web.core.texts import HAPPENING_OUTCOMES
from web.core.tool_texts import tool_title
from web.entities.state_texts import STATES
from web.entities.tiles import DOMAIN_ICONS as DEVICE_ICONS

PATH = "/timeline"
KIND_ICONS = {
    "conversation": "message-circle",
    "automation": "zap",
    "reminder": "bell",
    "device": "lightbulb",
    "approval": "shield-check",
    "person": "user",
    "system": "settings",
    "trigger": "clock",
}
CHIPS = {
    "answered": ("good", ""),
    "done": ("good", ""),
    "allowed": ("good", ""),
    "waiting": ("warn", "hourglass"),
    "running": ("action", "loader"),
    "did_not_run": ("warn", "circle-slash"),
    "denied": ("warn", "shield-x"),
    "refused": ("warn", "shield-x"),
    "expired": ("", "hourglass"),
    "stopped": ("", "square"),
    "failed": ("danger", ""),
    "fell_back": ("warn", "git-fork"),
}
"""How outcomes are painted: tone and icon; a device's change needs no chip, its title says it."""
GOING_ON = ("running", "waiting")

Plain = Mapping[str, Any]


class HappeningView(Struct, frozen=True):
    """Formats what `timeline.list` and `timeline.get` answer.

    Attributes:
        renderer: Formats times.
        names: Names entities in sentences.
        agent_name: Returns what people call an agent.
    """

    renderer: Renderer
    names: EntityNames
    agent_name: Callable[[str], str]

    def row(self, row: Plain) -> dict[str, Any]:
        """Return a happening as a row of the list."""
        at = self.renderer.local(row["at"])
        person = (row["who"] or {}).get("name")
        unwanted = row["outcome"] not in ("answered", "done", "changed", "allowed")
        falls = row["notes"] or (unwanted and row["kind"] != "approval")
        reason = self.words(row, "reason") if falls or row["outcome"] == "denied" else ""
        causes = [self.cause(each, row["at"]) for each in row["causes"]]
        return {
            "id": row["id"],
            "path": happening_path(row["id"]),
            "kind": row["kind"],
            "icon": self.icon(row),
            "title": self.words(row, "title"),
            "chips": chips(row),
            "reason": reason,
            "where": [each for each in (person, channel_name(row["channel"])) if each],
            "causes": causes if len(causes) > 1 else [],
            "more": row["moreCauses"],
            "time": time_of_day(at, twelve=self.renderer.has_twelve_hours(), wide=True),
            "iso": at.isoformat(timespec="seconds"),
            "took": took(row["durationMs"]) if row["kind"] != "device" else "",
            "cost": cost(row["costUsd"]),
            "going_on": row["outcome"] in GOING_ON,
        }

    def days(self, rows: Sequence[Plain]) -> list[dict[str, Any]]:
        """Return rows as groups by day, in their order."""
        groups: list[dict[str, Any]] = []
        for each in rows:
            day = self.renderer.local(each["at"]).date()
            if not groups or groups[-1]["day"] != day.isoformat():
                groups.append({"day": day.isoformat(), "title": self.day(day), "rows": []})
            groups[-1]["rows"].append(self.row(each))
        return groups

    def day(self, day: dt.date) -> str:
        """Return a day in words: Today, Yesterday, Tuesday 24 November."""
        return title(day, self.renderer.today())

    def moment(self, ms: float, *, seconds: bool = True) -> dict[str, str]:
        """Return a time, its day, and its ISO 8601 form."""
        at = self.renderer.local(ms)
        return {
            "time": time_of_day(at, exact=seconds, twelve=self.renderer.has_twelve_hours()),
            "day": self.day(at.date()),
            "iso": at.isoformat(timespec="milliseconds"),
        }

    def cause(self, cause: Plain, at_ms: float) -> dict[str, Any]:
        """Return a part of a row: its text, its link, and whether it is the row itself.

        Args:
            at_ms: When the row happened.
        """
        trigger = cause.get("trigger")
        return {
            "icon": self.icon(cause),
            "title": self.fired(trigger, at_ms) if trigger else self.words(cause, "title"),
            "path": happening_path(cause["id"]) if cause.get("id") else "",
            "own": bool(cause.get("self")),
        }

    def fired(self, trigger: Plain, at_ms: float) -> str:
        """Return what a trigger waited for as a sentence."""
        return self.names.with_names(fired_text(trigger, self.moment(at_ms, seconds=False)["time"]))

    def words(self, told: Plain, name: str) -> str:
        """Return a text of the answer: translated if the hub wrote it, with names in place of ids."""
        text = phrase_from_data(told.get(name) or "", told.get(f"{name}Phrase"))
        if isinstance(text, Phrase):
            names = {
                "channel": channel_name,
                "model": model_name,
                "other": model_name,
                "agent": self.agent_name,
                "tool": tool_names,
                "tools": tool_names,
                "before": state_name,
                "state": state_name,
            }
            text = phrase(
                text.template,
                **{key: names[key](value) if key in names else value for key, value in text.values.items()},
            )
        return self.names.with_names(text)

    def icon(self, part: Plain) -> str:
        """Return the icon of a row, a cause or a step: that of its kind, of a device that of its domain."""
        kind = "reminder" if (part.get("trigger") or {}).get("platform") == "remind" else part["kind"]
        if kind in ("device", "trigger") and part.get("entityId"):
            domain = part["entityId"].partition(".")[0]
            return "radar" if domain == "binary_sensor" else DEVICE_ICONS.get(domain, "lightbulb")
        return KIND_ICONS.get(kind, "circle")


def happening_path(id: str) -> str:
    """Return the page of a happening."""
    return f"{PATH}/{quote(id, safe='.')}"


def list_path(**query: str | None) -> str:
    """Return the list with these filters."""
    asked = {name: value for name, value in query.items() if value}
    return f"{PATH}?{urlencode(asked)}" if asked else PATH


def chips(row: Plain) -> list[dict[str, str]]:
    """Return the outcome, and remarkable facts beside it."""
    found = [name for name in (row["outcome"], *row["notes"]) if name in CHIPS]
    return [{"text": HAPPENING_OUTCOMES[name], "tone": CHIPS[name][0], "icon": CHIPS[name][1]} for name in found]


def tool_names(names: str) -> list[str]:
    """Return what people call the tools of a list with commas, in quotation marks."""
    return [phrase("“{tool}”", tool=tool_title(each)) for each in names.split(", ")]


def channel_name(id: str | None) -> str:
    """Return people's name for a channel; empty when there is none."""
    return phrase("Dashboard") if id == "webchat" else (id or "").replace("_", " ").title()


def state_name(state: str) -> str:
    """Return a state as a sentence has it: the word itself, which is translated where there is one."""
    return Phrase(state, STATES[state]) if state in STATES else state


def took(ms: float | None) -> str:
    """Return a duration in words; empty when there is none."""
    return "" if ms is None else duration_text(ms / 1_000)


def cost(usd: float | None) -> str:
    """Return a cost; empty if it is zero or unknown."""
    return money(usd) if usd else ""
