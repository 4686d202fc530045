"""`homarus timeline`: what happened and what did not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import WholeNumber
from hub.cli.verbs import Answer, verb
from hub.timeline.happening import FILTERS, LISTED

Plain = Mapping[str, Any]


class TimelineGroup(Group):
    """A group in which an unknown command is the id of a happening."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            args = ["show", *args]
        return super().resolve_command(ctx, args)


@click.group("timeline", cls=TimelineGroup)
def command() -> None:
    """Show what happened and what did not, and why.

    Example:
      homarus timeline list
      homarus timeline list --outcome did_not_run
    """


@verb(command, columns=("id", "began", "kind", "what", "outcome", "who", "took"), empty="Nothing happened.")
@click.option("--kind", type=click.Choice(LISTED), multiple=True, help="Only this kind; may be given again.")
@click.option("--outcome", type=click.Choice(FILTERS), multiple=True, help="Only what ended so; may be given again.")
@click.option("--person", metavar="ID", help="Only what this person is behind.")
@click.option("--agent", metavar="ID", help="Only what this agent did.")
@click.option("--entity", metavar="ID", help="Only what this entity did, or set off.")
@click.option("--automation", metavar="ID", help="Only this automation.")
@click.option("--text", metavar="WORDS", help="Only with these words in it.")
@click.option("--day", metavar="YYYY-MM-DD", help="Only what began on this day.")
@click.option("--limit", type=WholeNumber(1, 200), default=20, help="How many.  [default: 20]")
def list_(client: HubClient, **given: Any) -> Answer:
    """List what happened, the latest first.

    Example:
      homarus timeline list --kind automation --outcome did_not_run
    """
    asked = {_PARAMETERS.get(name, name): value for name, value in given.items() if value}
    found = client.call("timeline.list", {name: _plain(value) for name, value in asked.items()})["happenings"]
    return found, [_row(each) for each in found]


@verb(command)
@click.argument("happening")
def show(client: HubClient, happening: str) -> Answer:
    """Show the happening HAPPENING whole; `homarus timeline HAPPENING` does the same.

    Example:
      homarus timeline show run.01JDXQ5W3V7C8N2M4K6P9R0STB
    """
    told = client.call("timeline.get", {"id": happening})
    return told, "\n".join(_lines(told))


_PARAMETERS = {"agent": "agentId", "entity": "entityId", "automation": "automationId"}


def _plain(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value


def _row(each: Plain) -> tuple[str, ...]:
    title = " -> ".join(cause["title"] for cause in each["causes"]) or each["title"]
    who = (each["who"] or {}).get("name") or each["agentId"] or ""
    return each["id"], _clock(each["at"], "%Y-%m-%d %H:%M:%S"), each["kind"], title, _outcome(each), who, _took(each)


def _lines(told: Plain) -> Iterator[str]:
    row = told["happening"]
    yield f"{row['title']}: {_outcome(row)}"
    yield f"{_clock(row['at'], '%Y-%m-%d %H:%M:%S')}  {row['kind']}  {_took(row)}".rstrip()
    facts = {name: value for name, value in told["facts"].items() if value is not None}
    if facts:
        yield "  ".join(f"{name} {value}" for name, value in facts.items())
    for step in told["steps"]:
        detail = f": {step['detail']}" if step["detail"] else ""
        yield f"  {_clock(step['at'], '%H:%M:%S')}  {step['title']}{detail}"
    for condition in told["why"]["conditions"]:
        yield f"  {'held' if condition['holds'] else 'did not hold'}: {condition['reason'] or condition['path']}"
    for name, words in (("causedBy", "because of"), ("caused", "led to")):
        for cause in told["why"][name]:
            yield f"  {words} {cause['title']}  {cause.get('id', '')}".rstrip()


def _outcome(row: Plain) -> str:
    reason = f": {row['reason']}" if row["reason"] else ""
    return f"{row['outcome'].replace('_', ' ')}{reason}"


def _took(row: Plain) -> str:
    took = row["durationMs"]
    if took is None:
        return ""
    return f"{took} ms" if took < 1_000 else f"{took / 1_000:.1f} s"


def _clock(ms: int, form: str) -> str:
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime(form)
