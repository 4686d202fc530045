"""`homarus trace`: what a run of an agent did, step by step."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.groups import Group
from hub.cli.options import WholeNumber
from hub.cli.times import SECOND, local_time
from hub.cli.verbs import Answer, verb

STATES = ("queued", "running", "answered", "failed", "aborted", "interrupted")
TEXT_CHARS = 100
REPLAY_LIMIT_S = 900.0
BETWEEN = "  |  "

Plain = Mapping[str, Any]


class TraceGroup(Group):
    """A group in which an unknown command is taken as the id of a run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            args = ["show", *args]
        return super().resolve_command(ctx, args)


@click.group("trace", cls=TraceGroup)
def command() -> None:
    """Show what a run did: `homarus trace RUN`, with a RUN from `homarus trace list`.

    Example:
      homarus trace list
      homarus trace show 01JDXQ5W3V7C8N2M4K6P9R0STB
    """


@verb(command, columns=("run", "began", "state", "took", "model", "session"), empty="No runs.")
@click.option("--agent", metavar="ID", help="Only those of this agent.")
@click.option("--session", metavar="KEY", help="Only those in this session.")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", type=WholeNumber(1, 200), default=20, help="How many.  [default: 20]")
def list_(client: HubClient, agent: str | None, session: str | None, state: str | None, limit: int) -> Answer:
    """List the runs, the latest first.

    Example:
      homarus trace list --state failed
    """
    given = {"agentId": agent, "sessionKey": session, "state": state, "limit": limit}
    asked = {name: value for name, value in given.items() if value is not None}
    runs = client.call("runs.list", asked)["runs"]
    return runs, [_row(each) for each in runs]


@verb(command)
@click.argument("run")
def show(client: HubClient, run: str) -> Answer:
    """Show the run RUN from the message to the reply; `homarus trace RUN` does the same.

    Example:
      homarus trace show 01JDXQ5W3V7C8N2M4K6P9R0STB --json
    """
    told = client.call("runs.get", {"runId": run})
    return told, "\n".join(_lines(told))


@verb(command)
@click.argument("run")
@click.option("--model", required=True, metavar="MODEL", help="Who answers this time: provider/id, or an alias.")
def replay(client: HubClient, run: str, model: str) -> Answer:
    """Ask another model what the run RUN was asked, and show both answers side by side.

    The other model may only read, and its answer is not kept in the conversation.

    Example:
      homarus trace replay 01JDXQ5W3V7C8N2M4K6P9R0STB --model openai/gpt-5-mini
    """
    sides = client.call("runs.replay", {"runId": run, "model": model}, timeout_s=REPLAY_LIMIT_S)
    width = (shutil.get_terminal_size((100, 24)).columns - len(BETWEEN)) // 2
    pairs = zip_longest(*(_side(sides[name], width) for name in ("original", "replay")), fillvalue="")
    return sides, "\n".join(f"{left:<{width}}{BETWEEN}{right}".rstrip() for left, right in pairs)


def _lines(run: Plain) -> Iterator[str]:
    yield f"{run['runId']}  {run['state']}  {_took(run['durationMs'])}".rstrip()
    yield f"session {run['sessionKey']}  agent {run['agentId']}  model {run['model'] or '-'}"
    if usage := run["usage"]:
        yield f"{usage.get('total_tokens', 0)} tokens{_cost(usage)}"
    if prompt := run["prompt"]:
        yield f"prompt: {prompt['tokens']} tokens, {prompt['tools']} tools"
    if error := run["error"]:
        yield f"error: {error.get('message') or error.get('code')}"
    for step in run["steps"]:
        yield f"  {_clock(step['at'])}  {step['kind']:<10}  {_took(step.get('durationMs')):>8}  {_told(step)}"
        if approval := step.get("approval"):
            yield f"{'':<33}  approval: {_approval(approval)}"
    if run["dropped"]:
        yield f"  {run['dropped']} more steps are not kept"
    if not run["traced"]:
        yield "  The trace is not kept any more: this is what the transcript shows."


def _side(side: Plain, width: int) -> list[str]:
    usage = side["usage"] or {}
    error = (side["error"] or {}).get("message")
    lines = [
        side["model"] or "-",
        f"{side['state']}  {_took(side['durationMs'])}  {usage.get('total_tokens', 0)} tokens{_cost(usage)}",
        *([f"called {', '.join(side['calls'])}"] if side["calls"] else []),
        *([f"error: {error}"] if error else []),
        "",
        *(side["reply"] or "").splitlines(),
    ]
    return [piece for line in lines for piece in textwrap.wrap(line, width) or [""]]


def _row(run: Plain) -> tuple[str, ...]:
    began = local_time(run["createdAt"], SECOND)
    return run["runId"], began, run["state"], _took(run["durationMs"]), run["model"] or "", run["sessionKey"]


def _told(step: Plain) -> str:
    match step["kind"]:
        case "model":
            usage = step.get("usage") or {}
            failed = "".join(f"; {each['model']} failed: {each.get('code', '')}" for each in step["failed"])
            tokens = f"  {usage['total_tokens']} tokens{_cost(usage)}" if usage else ""
            first = f"  first word after {_took(step['firstMs'])}" if step.get("firstMs") is not None else ""
            error = f"  error: {step['error']}" if step["error"] else ""
            said = _short(step.get("text")) or ", ".join(step.get("calls") or ())
            return f"{step['model']}{tokens}{first}{failed}{error}  {said}".rstrip()
        case "tool":
            mark = "error" if step["isError"] else "ok"
            return f"{step['name']}  {mark}  {_short(step['input'])} -> {_short(step['output'])}"
        case "received":
            return f"{_place(step, 'from')}  {_short(step['text'])}".strip()
        case "sent":
            error = f"  {step['error']}" if step["error"] else ""
            return f"{_place(step, 'to')}  {step['state']}{error}  {_short(step['text'])}".rstrip()
        case "compaction":
            return f"{step['tokensBefore']} -> {step['tokensAfter']} tokens ({step['reason']})"
        case "approval":
            return f"{step['title']}: {_approval(step)}"
    return _short(step.get("text"))


def _approval(approval: Plain) -> str:
    by = f" by {approval['by']}" if approval["by"] else ""
    waited = f" after {_took(approval['waitedMs'])}" if approval["waitedMs"] is not None else ""
    return f"{approval['state']}{by}{waited}"


def _place(step: Plain, who: str) -> str:
    return f"{step['channel']}:{step[who]}" if step.get("channel") else ""


def _cost(usage: Plain) -> str:
    return f"  ${usage['cost_usd']:.4f}" if usage.get("cost_usd") is not None else ""


def _clock(ms: int) -> str:
    return local_time(ms, "%H:%M:%S.%f")[:-3]


def _took(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms:.0f} ms" if ms < 1_000 else f"{ms / 1_000:.1f} s"


def _short(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= TEXT_CHARS else f"{line[: TEXT_CHARS - 1]}…"
