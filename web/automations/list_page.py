"""The automations: the list with its states and last runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from aiohttp import web
from msgspec import Struct

from hub.automation.contract import RunSpending
from hub.automation.definition.explain import sentence
from hub.automation.definition.kinds import Kinds
from hub.automation.editing.schedule_request import ScheduledAction, from_item
from hub.automation.engine.automation_status import AutomationStatus
from hub.automation.engine.automations import Automations
from hub.automation.tracing.trace_store import TraceStore
from hub.core.phrases import map_phrase
from hub.core.schema import All, In, Length, Required, Schema, string
from hub.core.surfaces import ADMIN, WRITE, HttpCall
from web.automations.entity_names import EntityNames
from web.automations.trace_view import automation_path, outcome_chip
from web.core.form import read_fields
from web.core.i18n import catalogue
from web.core.live import Frame
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import AUTOMATION_FILTERS, AUTOMATION_STATES

PATH = "/automations"
PAGE_SIZE = 50
RECENT_LIMIT = 200
"""The number of traces read for the last outcomes."""
OUTCOMES_LIMIT = 10_000
QUERY_LIMIT = 100
DAY_S = 86_400.0
LEAST_TOLD_USD = 0.005
"""A smaller cost is shown only for heartbeats."""
TONES = {"on": "good", "off": "", "unavailable": "danger"}
BEATS = 14
"""How many of the last runs a row shows as bars."""

ID = All(string, Length(min=1, max=200))
TURN = Schema({Required("id"): ID, Required("to"): In(["on", "off"]), "back": All(string, Length(max=500))})


class ListFilter(Struct, frozen=True):
    """The filter of the list."""

    query: str = ""
    state: str = "all"
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> ListFilter:
        """Parse the filter of a query string; unknown values are ignored."""
        state = query.get("state", "all")
        page = query.get("page", "1")
        return cls(
            query.get("q", "")[:QUERY_LIMIT].strip(),
            state if state in AUTOMATION_FILTERS else "all",
            int(page) if page.isdigit() and 0 < int(page[:6]) < 100_000 else 1,
        )

    def path(self, page: int | None = None) -> str:
        """Return the address of this list, or of another page of it."""
        number = self.page if page is None else page
        state = self.state if self.state != "all" else ""
        query = {"q": self.query, "state": state, "page": str(number) if number > 1 else ""}
        text = urlencode({key: value for key, value in query.items() if value})
        return f"{PATH}?{text}" if text else PATH


class AutomationsPage:
    """The list.

    Args:
        automations: The loaded automations.
        traces: The traces of runs, and of firings without one.
        spending: The cost of runs.
        redact: Takes secrets out of a text.
        kinds: The kinds of triggers, conditions and steps that there are.
        names: Names entities in sentences.
        wall_time: Seconds since the epoch.
    """

    def __init__(
        self,
        renderer: Renderer,
        automations: Automations,
        traces: TraceStore,
        spending: RunSpending,
        redact: Callable[[str], str],
        *,
        kinds: Kinds,
        names: EntityNames,
        wall_time: Callable[[], float],
    ) -> None:
        self._renderer = renderer
        self._automations = automations
        self._traces = traces
        self._spending = spending
        self._redact = redact
        self._kinds = kinds
        self.names = names
        self._wall_time = wall_time
        self._outcomes: dict[str, deque[str]] | None = None

    def ended(self, id: str, outcome: str) -> None:
        """Handle the end of an automation's run."""
        if self._outcomes is None:
            return
        self._outcomes.setdefault(id, deque(maxlen=BEATS)).append(outcome)
        if len(self._outcomes) > OUTCOMES_LIMIT:  # automations come and go; the traces know those that matter
            self._outcomes = None

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /automations[?q=…&state=…&page=N]`."""
        return await self.show_described(call)

    async def show_described(
        self, call: HttpCall, text: str = "", problem: str = "", status: int = 200
    ) -> web.StreamResponse:
        """Return the list, with a sentence of which nothing could be made, and why.

        Args:
            text: The sentence.
            problem: Why; a message id, or words.
            status: The HTTP status.
        """
        rights = rights_of(call)
        wanted, language = ListFilter.of(call.request.query), self._renderer.preferences(call).language
        data = await self._list(wanted, language, **rights) | rights | {"described": text, "problem": problem}
        return await self._renderer.respond(call, RenderedPage("automations", "Automations", data, PATH, status))

    async def turn(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/turn`: turn one on or off; on also ends a pause."""
        fields = read_fields(call, TURN)
        automation = self._automations.get(fields["id"])
        if fields["to"] == "on":
            await automation.turn_on()
        else:
            await automation.turn_off()
        if wants_json(call.request):
            return json_response(self._automations.status(automation.id).as_dict())
        return see_other(back_to(fields.get("back"), automation.id))

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the list of a live topic, `automations:<query string>`."""
        asked = dict(parse_qsl(topic.partition(":")[2]))
        rights = {"may_run": asked.get("may") in ("run", "edit"), "may_edit": asked.get("may") == "edit"}
        data = await self._list(ListFilter.of(asked), language, **rights) | rights
        html = self._renderer.fragment("automations", language, page=data)
        return ({"t": "html", "id": "automation-list", "html": html},)

    def sentence(self, id: str, language: str) -> str:
        """Return an automation's description in one sentence; empty for one that is unavailable."""
        if self._automations.status(id).state == "unavailable":
            return ""
        with self._kinds.in_use():
            return self.said(sentence(self._automations.get(id).config), language)

    def said(self, text: str, language: str) -> str:
        """Return a sentence about the configuration in the reader's language, with names for ids."""
        said = self.names.with_names(self._redact(catalogue(language).gettext(text)))
        return said[:1].upper() + said[1:]

    def status(self, status: AutomationStatus) -> dict[str, Any]:
        """Return an automation as pages show it."""
        file, line = (status.location or {}).get("file"), (status.location or {}).get("line")
        last, due = self._when(status.last_triggered), self._when(status.next_run)
        return status.as_dict() | {
            "key": "".join(each if each.isalnum() else "_" for each in status.id),
            "path": automation_path(status.entity_id if status.id in RESERVED else status.id),
            "state_text": AUTOMATION_STATES.get(status.state, status.state),
            "tone": TONES.get(status.state, ""),
            "error": map_phrase(status.error, self._redact) if status.error else None,
            "paused": self.names.with_names(map_phrase(status.paused, self._redact)) if status.paused else None,
            "place": f"{file}:{line}" if line else file,
            "fix_path": f"/settings/files?file={quote(str(file), safe='')}#L{line or 1}" if file else None,
            "last": last,
            "next": due,
        }

    # --- inside ---

    async def _list(self, wanted: ListFilter, language: str, *, may_run: bool, may_edit: bool) -> dict[str, Any]:
        everything = [each for each in self._automations.all() if not self._is_reminder(each)]
        found = [each for each in everything if _matches(each, wanted)]
        pages = max(1, -(-len(found) // PAGE_SIZE))
        page = min(wanted.page, pages)
        outcomes = await self._last_outcomes()
        since = self._wall_time() - DAY_S
        rows = []
        for each in found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]:
            cost = self._spending.cost_usd(since=since, automation=each.id)
            told = cost >= LEAST_TOLD_USD or self._is_heartbeat(each)
            runs = [outcome_chip(outcome) for outcome in outcomes.get(each.id, ())]
            more = {"runs": runs, "last_outcome": runs[-1] if runs else None, "cost": f"{cost:.2f}" if told else None}
            rows.append(self.status(each) | more | {"sentence": self.sentence(each.id, language)})
        asked = ListFilter(wanted.query, wanted.state, page)
        rights = "may=edit&" if may_edit else "may=run&" if may_run else ""
        return {
            "topic": f"automations:{rights}{asked.path().partition('?')[2]}",
            "query": wanted.query,
            "state": wanted.state,
            "here": asked.path(),
            "states": AUTOMATION_FILTERS,
            "count": len(found),
            "total": len(everything),
            "number": page,
            "pages": pages,
            "earlier": asked.path(page - 1) if page > 1 else None,
            "later": asked.path(page + 1) if page < pages else None,
            "automations": rows,
        }

    def _is_reminder(self, status: AutomationStatus) -> bool:
        """Whether it only says something at a time: reminders have a page of their own."""
        if status.state == "unavailable":
            return False
        request = from_item(self._automations.get(status.id).config, "")
        return request is not None and request.do is ScheduledAction.REMIND

    def _is_heartbeat(self, status: AutomationStatus) -> bool:
        if status.state == "unavailable":
            return False
        return any(each["trigger"] == "heartbeat" for each in self._automations.get(status.id).config["triggers"])

    async def _last_outcomes(self) -> Mapping[str, Sequence[str]]:
        """Return how the last runs of each automation ended, the newest last; those before the start are read once."""
        if self._outcomes is None:
            found: dict[str, deque[str]] = {}
            for trace in await self._traces.recent(RECENT_LIMIT):
                if trace.get("outcome") and not trace.get("imported"):
                    runs = found.setdefault(str(trace.get("automation_id")), deque(maxlen=BEATS))
                    if len(runs) < BEATS:
                        runs.appendleft(str(trace["outcome"]))
            self._outcomes = found
        return self._outcomes

    def _when(self, seconds: float | None) -> dict[str, str] | None:
        if seconds is None:
            return None
        ts_ms = int(seconds * 1000)
        return {"when": self._renderer.spoken(ts_ms), "iso": self._renderer.iso(ts_ms)}


RESERVED = frozenset({"history", "new", "reminders", "trace-file"})
"""Ids that would be addresses of other pages."""


def rights_of(call: HttpCall) -> dict[str, bool]:
    """Return the rights of the viewer."""
    authority = call.caller.authority if call.caller is not None else None
    return {
        "may_run": authority is not None and authority.has(WRITE),
        "may_edit": authority is not None and authority.has(ADMIN),
    }


def back_to(back: str | None, id: str) -> str:
    """Return the page to go back to: one of the automations' own."""
    return back if back and (back == PATH or back.startswith((f"{PATH}?", f"{PATH}/"))) else automation_path(id)


def _matches(status: AutomationStatus, wanted: ListFilter) -> bool:
    if wanted.state == "failing" and not (status.failures or status.paused):
        return False
    if wanted.state in AUTOMATION_STATES and status.state != wanted.state:
        return False
    if not wanted.query:
        return True
    text = f"{status.alias} {status.id} {status.description} {status.made_by or ''} {status.blueprint or ''}".lower()
    return all(word in text for word in wanted.query.lower().split())
