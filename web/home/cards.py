"""The content of Home's cards, from the answers of the gateway's methods. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from web.core.formats import model_name
from web.core.texts import CHANNEL_STATES, MODEL_STATES, OFFLINE_MODEL

ANSWERS = 5
TILES = 6
PICKED: Sequence[tuple[str, str | None, int]] = (
    *(("light", None, 2), ("climate", None, 1), ("lock", None, 1)),
    *(("sensor", "temperature", 1), ("switch", None, 2)),
)
"""What has a tile until a person chooses: by domain and class, and how many."""
NEXT_LIMIT = 6
NEXT_HOURS = 36
WEEK = 7
CHANNEL_TONES = {"connected": "good", "connecting": "", "disconnected": "warn", "failed": "danger"}

Row = dict[str, Any]
Told = Callable[[int], str]
"""Returns a time, in milliseconds since the epoch, as a phrase."""


def answers(
    sessions: Iterable[Mapping[str, Any]],
    previews: Iterable[Mapping[str, Any]],
    names: Mapping[str, str],
    told: Told,
    home_channels: Callable[[str], bool],
) -> list[Row]:
    """Return the latest answers, the latest first, each with the question that it answers.

    Args:
        names: The names of automations, by their ids.
        home_channels: Whether a channel is the dashboard's own.
    """
    by_key = {each["key"]: each["items"] for each in previews}
    found: list[tuple[float, Row]] = []
    for session in sessions:
        asked, answered = _last_exchange(by_key.get(session["key"], ()))
        if not answered:
            continue
        automation = session["key"].rpartition(":")[2] if session["classification"] == "cron" else ""
        channel = session["lastChannel"] or ""
        icon = "zap" if automation else "message-circle" if not channel or home_channels(channel) else "send"
        title = names.get(automation) or (asked if session["isMain"] or automation else session["title"] or asked)
        at_ms = (not automation and session.get("lastInteractionAt")) or session["updatedAt"]
        row = {
            "title": _line(title or session["title"] or ""),
            "text": _line(answered),
            "path": f"/chat?session={quote(session['key'], safe='')}",
            "icon": icon,
            "when": told(at_ms),
        }
        found.append((at_ms, row))
    latest = sorted(found, key=lambda each: -each[0])
    return [row for _, row in latest if row["title"]][:ANSWERS]


def _last_exchange(items: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    """Return the last question in a conversation and its answer; the last words where there was no question.

    An answer directly after an answer belongs to no question, such as an automation's message.
    """
    at = max((place for place, item in enumerate(items) if item["role"] == "user"), default=None)
    if at is None:
        return "", next((item["text"] for item in reversed(items) if item["role"] == "assistant"), "")
    answered, before = "", "user"
    for item in items[at + 1 :]:
        if item["role"] == before == "assistant":
            break
        answered = item["text"] if item["role"] == "assistant" else answered
        before = item["role"]
    return items[at]["text"], answered


def _line(text: str) -> str:
    """Return the first line that has words, without the marks of Markdown at its edges."""
    return next((line.strip(" #*>-`") for line in text.splitlines() if line.strip(" #*>-`")), "")


def favourites(entities: Iterable[Mapping[str, Any]], chosen: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the entities that have a tile: those that a person chose, else some of each kind that people use most."""
    known = {each["entity_id"]: each for each in entities if not each["disabled"]}
    if chosen:
        return [known[id] for id in chosen if id in known]
    usable = [each for each in known.values() if not each["hidden"] and not each["entity_category"]]
    found: list[Mapping[str, Any]] = []
    for domain, device_class, count in PICKED:
        of = [each for each in usable if each["domain"] == domain and device_class in (None, each["device_class"])]
        found += [each for each in of if each["commands"] or device_class][:count]
    return found[:TILES]


def next_up(
    jobs: Iterable[Mapping[str, Any]], automations: Iterable[Mapping[str, Any]], now_ms: float, told: Told
) -> list[Row]:
    """Return the reminders and automations of the next hours, the soonest first.

    Args:
        jobs: The list of `cron.list`.
        automations: The list of `automation.list`.
    """
    rows: dict[str, tuple[float, Row]] = {}
    for each in automations:
        if each["next_run"] and each["state"] == "on":
            at = dt.datetime.fromisoformat(each["next_run"]).timestamp() * 1000
            rows[each["id"]] = (at, {"title": each["alias"] or each["id"], "icon": "zap", "reminder": None})
    for job in jobs:
        at = job["state"].get("nextRunAtMs")
        if at is None:
            continue
        is_reminder = job["payload"]["kind"] == "message"
        name = job["payload"]["text"] if is_reminder else job["name"]
        once = job["id"] if is_reminder and job["schedule"]["kind"] == "at" else None
        rows[job["id"]] = (at, {"title": name, "icon": "bell" if is_reminder else "zap", "reminder": once})
    soon = [(at, id, row) for id, (at, row) in rows.items() if now_ms <= at <= now_ms + NEXT_HOURS * 3_600_000]
    return [
        {**row, "id": id, "when": told(int(at)), "path": f"/automations/{quote(id, safe='')}"}
        for at, id, row in sorted(soon, key=lambda each: each[:2])[:NEXT_LIMIT]
    ]


def model(status: Mapping[str, Any], names: Mapping[str, str]) -> Row:
    """Return the model that answers now, what answers when it cannot, and how it is: message ids and names.

    Args:
        status: The answer of `models.status`.
        names: The names of models, by `provider/id`.
    """
    ref = (status.get("resolved") or {}).get("ref") or ""
    provider = next((each for each in status["providers"] if each["name"] == ref.partition("/")[0]), None)
    health = (provider or {}).get("health") or {}
    is_offline = provider is not None and provider["api"] == "offline"
    is_down = provider is None or provider["obstacle"] or health.get("aside")
    state = "offline" if is_offline else "down" if is_down else "shaky" if health.get("error") else "healthy"
    text, tone = MODEL_STATES[state if ref else "none"]
    return {
        "name": OFFLINE_MODEL if is_offline else _name(ref, names),
        "then": [_name(each, names) for each in status["fallbacks"]],
        "error": (provider or {}).get("obstacle") or health.get("error") or "",
        "state": text,
        "tone": tone,
    }


def _name(ref: str, names: Mapping[str, str]) -> str:
    return names.get(ref) or model_name(ref)


def channels(status: Mapping[str, Any], asking: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the accounts of chat apps, with how many ask to write there."""
    ask = [each["channel"] for each in asking]
    return [
        {
            "name": account["label"],
            "account": account.get("name") or "",
            "asking": ask.count(channel),
            "state": CHANNEL_STATES.get(account["state"], account["state"]),
            "tone": CHANNEL_TONES.get(account["state"], ""),
        }
        for channel, accounts in status["channelAccounts"].items()
        for account in accounts
    ]


def week(rows: Iterable[Mapping[str, Any]], budgets: Iterable[Mapping[str, Any]], today: dt.date) -> Row:
    """Return the cost of the last seven days, or their tokens where nothing has a price, and the limit of a day."""
    days = [today - dt.timedelta(days=back) for back in range(WEEK - 1, -1, -1)]
    rows = list(rows)
    cost = [sum(row["cost_usd"] or 0 for row in rows if row["day"] == day.isoformat()) for day in days]
    tokens = [
        sum(row["input_tokens"] + row["output_tokens"] for row in rows if row["day"] == day.isoformat()) for day in days
    ]
    limit = next((each["limits"].get("cost_usd") for each in budgets if each["per"] == "day"), None)
    return {
        "priced": any(cost),
        "days": days,
        "values": cost if any(cost) else tokens,
        "total": sum(cost) if any(cost) else sum(tokens),
        "today": cost[-1],
        "limit": limit,
        "used": bool(rows),
    }
