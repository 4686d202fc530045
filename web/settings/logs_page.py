"""The log as it is written: filtered by level, part and words, live until paused."""

from __future__ import annotations

import re
from typing import Any

from aiohttp import web

from hub.core.surfaces import HttpCall
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer

PATH = "/settings/logs"
LINES = 500
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LINE = re.compile(
    r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\S* (DEBUG|INFO|WARNING|ERROR|CRITICAL) ([\w.]+): (.*)", re.DOTALL
)


class LogsPage:
    """The page; only administrators reach it."""

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/logs[?level=&part=&q=&cursor=]`: the latest lines, or with a cursor those after it."""
        query = call.request.query
        cursor = query.get("cursor", "")
        params: dict[str, Any] = {"limit": LINES} | ({"cursor": int(cursor)} if cursor.isdecimal() else {})
        tail = await self._client.ask(call, "logs.tail", params)
        wanted = {name: query.get(name, "")[:100] for name in ("level", "part", "q")}
        records = log_records(tail["lines"])
        data = {
            **wanted,
            "parts": sorted({each["part"] for each in records if each["part"]}),
            "records": [each for each in records if _fits(each, wanted)][::-1],
            "cursor": tail["cursor"],
        }
        return await self._renderer.respond(call, RenderedPage("logs", "Logs", data, PATH, secret=True))


def log_records(lines: list[str]) -> list[dict[str, str]]:
    """Return lines as records; a line without a level, as in a traceback, belongs to the record before it."""
    found: list[dict[str, str]] = []
    for line in lines:
        match = _LINE.match(line)
        if match is not None:
            day, time, level, part, text = match.groups()
            found.append({"day": day, "time": time, "level": level, "part": part, "text": text})
        elif found:
            found[-1]["text"] += f"\n{line}"
        else:
            found.append({"day": "", "time": "", "level": "INFO", "part": "", "text": line})
    return found


def _fits(record: dict[str, str], wanted: dict[str, str]) -> bool:
    level = wanted["level"]
    if level in LEVELS and LEVELS.index(record["level"]) < LEVELS.index(level):
        return False
    if wanted["part"] and record["part"] != wanted["part"]:
        return False
    text = f"{record['part']} {record['text']}".lower()
    return all(word in text for word in wanted["q"].lower().split())
