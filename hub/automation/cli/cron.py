"""`homarus cron`: what is done at a time, once or repeatedly. Each is an automation in the user's own file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import WholeNumber
from hub.cli.times import local_time
from hub.cli.verbs import Answer, verb

Function = TypeVar("Function", bound=Callable[..., Any])

_WHEN = (
    click.option("--at", metavar="TIME", help="Once: 20m, 18:00, or 2026-03-01T07:30."),
    click.option("--every", metavar="INTERVAL", help="Again and again: 2h, 1d."),
    click.option("--cron", metavar="EXPRESSION", help="minute hour day month weekday."),
    click.option("--tz", metavar="ZONE", help="The time zone of --at or --cron; the home's without it."),
)
_WHAT = (
    click.option("--message", metavar="TEXT", help="Message to the agent, whose answer is sent."),
    click.option("--text", metavar="TEXT", help="Text that is sent unchanged, as a reminder."),
    click.option("--system-event", metavar="TEXT", help="Let the agent see this at its next heartbeat."),
    click.option("--agent", metavar="ID", help="Which agent."),
    click.option("--session", metavar="NAME", help="isolated, main, or session:KEY."),
    click.option("--model", metavar="MODEL", help="For --message."),
    click.option("--thinking", metavar="LEVEL", help="For --message: off to high."),
    click.option("--timeout", type=int, metavar="SECONDS", help="For --message."),
    click.option("--wake", type=click.Choice(("now", "next-heartbeat")), help="For --system-event."),
    click.option("--channel", metavar="NAME", help="Where the answer or text goes; the last one without it."),
    click.option("--to", metavar="ID", help="To whom on that channel."),
    click.option("--account", metavar="NAME", help="By which account of it."),
    click.option("--announce/--no-announce", default=None, help="Whether an answer is sent at all."),
    click.option("--webhook", metavar="URL", help="Post the result of each run there, and to no chat."),
    click.option("--retry", type=WholeNumber(1, 20), metavar="N", help="Try a run that fails N times in all; 1: once."),
    click.option("--retry-delay", metavar="TIME", help="With --retry: before the second, such as 30s; then doubled."),
    click.option("--description", metavar="TEXT", help="Description shown in lists."),
    click.option("--delete-after-run/--keep-after-run", default=None, help="Whether it is deleted after its run."),
)


def _options(*groups: Sequence[Callable[[Function], Function]]) -> Callable[[Function], Function]:
    """Return a decorator that adds all these options, in their order."""

    def add(command: Function) -> Function:
        for option in reversed([each for group in groups for each in group]):
            command = option(command)
        return command

    return add


@click.group("cron", cls=Group)
def command() -> None:
    """Schedule reminders and work of the agent.

    Example:
      homarus cron add --at 20m --text "Take the cake out"
      homarus cron add --cron "0 7 * * 1-5" --message "Tell me what is up today" --name Morning
    """


@verb(command)
@click.option("--name", metavar="NAME", help="Name shown in lists and traces.")
@_options(_WHEN, _WHAT)
@click.option("--disabled", is_flag=True, help="Save it turned off.")
def add(client: HubClient, disabled: bool, **given: Any) -> Answer:
    """Schedule something: a time (--at, --every or --cron) and a text (--message, --text or --system-event).

    Example:
      homarus cron add --every 2h --text "Drink some water" --channel telegram --to 123456789
    """
    params = _job(given)
    if "schedule" not in params:
        raise CommandFailed("Say when, with --at, --every or --cron; such as --at 20m or --at 7:30.", Exit.USAGE)
    if "payload" not in params:
        raise CommandFailed("Say what, with --message, --text or --system-event.", Exit.USAGE)
    if disabled:
        params["enabled"] = False
    job = client.call("cron.add", params)
    return job, f"{job['id']} is scheduled; {_next(job)}."


@verb(
    command,
    columns=("id", "name", "next", "what", "state"),
    empty='Nothing is scheduled. Try: homarus cron add --at 20m --text "Take the cake out"',
)
@click.option("--all", "everything", is_flag=True, help="Those that are switched off too.")
def list_(client: HubClient, everything: bool) -> Answer:
    """List the schedules.

    Example:
      homarus cron list --json
    """
    jobs, offset = [], 0
    while True:
        page = client.call("cron.list", {"includeDisabled": everything, "limit": 200, "offset": offset})
        jobs += page["jobs"]
        if not page["hasMore"]:
            break
        offset = page["nextOffset"]
    rows = [
        (job["id"], job["name"], local_time(job["state"].get("nextRunAtMs")), _what(job), _state(job)) for job in jobs
    ]
    return jobs, rows


@verb(command)
def status(client: HubClient) -> Answer:
    """Show how many schedules there are, which is next, and which failed.

    Example:
      homarus cron status
    """
    found = client.call("cron.status")
    jobs = client.call("cron.list", {"includeDisabled": True, "limit": 200, "sortBy": "nextRunAtMs"})["jobs"]
    failed = [each for each in jobs if each["state"].get("lastError") or each["state"].get("consecutiveErrors")]
    due = next((each for each in jobs if each["state"].get("nextRunAtMs")), None)
    off = sum(not each["enabled"] for each in jobs)
    told = [f"{found['jobs']} scheduled, {off} of them off" if off else f"{found['jobs']} scheduled"]
    if due is not None:
        told.append(f"Next: {due['name']} ({due['id']}) on {local_time(due['state']['nextRunAtMs'])}")
    told += [f"Failed: {each['name']} ({each['id']}): {_state(each)}" for each in failed]
    return found | {"next": due and due["id"], "failed": [each["id"] for each in failed]}, "\n".join(told)


@verb(command)
@click.argument("id")
@click.option("--name", metavar="NAME", help="Name shown in lists and traces.")
@_options(_WHEN, _WHAT)
@click.option("--enable/--disable", "enabled", default=None, help="Turn it on or off.")
def edit(client: HubClient, id: str, enabled: bool | None, **given: Any) -> Answer:
    """Change the schedule ID; omitted options keep their value.

    Example:
      homarus cron edit morning_1a2b3c4d --cron "0 8 * * *"
    """
    patch = _job(given)
    if enabled is not None:
        patch["enabled"] = enabled
    if not patch:
        raise CommandFailed("Say what to change; `homarus cron edit --help` lists it.", Exit.USAGE)
    job = client.call("cron.update", {"id": id, "patch": patch})
    return job, f"{job['id']} is changed; {_next(job)}."


@verb(command)
@click.argument("id")
def remove(client: HubClient, id: str) -> Answer:
    """Remove the schedule ID from the file.

    Example:
      homarus cron remove morning_1a2b3c4d
    """
    answer = client.call("cron.remove", {"id": id})
    return answer, f"{answer['id']} is removed."


@verb(command)
@click.argument("id")
@click.option("--due", is_flag=True, help="Only when it is due.")
def run(client: HubClient, id: str, due: bool) -> Answer:
    """Run the schedule ID now.

    Example:
      homarus cron run morning_1a2b3c4d
    """
    answer = client.call("cron.run", {"id": id, "mode": "due" if due else "force"})
    runs = f"runs: {answer.get('runId') or 'it waits for its turn'}"
    told = runs if answer["enqueued"] else f"did not run: {answer.get('reason')}"
    return answer, f"{answer['id']} {told}", Exit.OK if answer["ok"] else Exit.FINDINGS


@verb(command, columns=("time", "id", "outcome", ""), empty="Nothing ran yet.")
@click.argument("id", required=False)
@click.option("--limit", type=WholeNumber(1, 200), default=20, show_default=True, help="How many at most.")
def runs(client: HubClient, id: str | None, limit: int) -> Answer:
    """Show recent runs of the schedule ID, or of all automations.

    Example:
      homarus cron runs morning_1a2b3c4d --limit 5
    """
    entries = client.call("cron.runs", {"limit": limit, **({"id": id} if id else {})})["entries"]
    return entries, [
        (
            local_time(entry.get("runAtMs")),
            entry["jobId"],
            entry.get("outcome") or "running",
            entry.get("error") or " ".join(str(entry.get("summary") or "").split())[:80],
        )
        for entry in entries
    ]


def _job(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that options ask for; those that were not given are not in it."""
    job: dict[str, Any] = {}
    if schedule := _schedule(given):
        job["schedule"] = schedule
    if payload := _payload(given):
        job["payload"] = payload
    if delivery := _delivery(given):
        job["delivery"] = delivery
    if given.get("retry_delay") and given.get("retry") is None:
        raise CommandFailed("--retry-delay goes with --retry.", Exit.USAGE)
    if given.get("retry") is not None:
        delay = {"delay": given["retry_delay"]} if given.get("retry_delay") else {}
        job["retry"] = {"attempts": given["retry"], **delay}
    named = {
        "name": "name",
        "description": "description",
        "agent": "agentId",
        "session": "sessionTarget",
        "wake": "wakeMode",
        "delete_after_run": "deleteAfterRun",
    }
    return job | {key: given[name] for name, key in named.items() if given.get(name) is not None}


def _schedule(given: dict[str, Any]) -> dict[str, Any] | None:
    chosen = [name for name in ("at", "every", "cron") if given.get(name)]
    if len(chosen) > 1:
        raise CommandFailed(f"Give one of --{' and --'.join(chosen)}.", Exit.USAGE)
    zone = {"tz": given["tz"]} if given.get("tz") else {}
    if zone and chosen not in (["at"], ["cron"]):
        raise CommandFailed("--tz goes with --at or --cron.", Exit.USAGE)
    match chosen:
        case ["at"]:
            return {"kind": "at", "at": given["at"], **zone}
        case ["every"]:
            return {"kind": "every", "every": given["every"]}
        case ["cron"]:
            return {"kind": "cron", "expr": given["cron"], **zone}
        case _:
            return None


def _payload(given: dict[str, Any]) -> dict[str, Any] | None:
    kinds = {"message": "agentTurn", "text": "message", "system_event": "systemEvent"}
    chosen = [name for name in kinds if given.get(name)]
    if len(chosen) > 1:
        raise CommandFailed("Give one of --message, --text and --system-event.", Exit.USAGE)
    more = {"model": "model", "thinking": "thinking", "timeout": "timeoutSeconds"}
    stated = {key: given[name] for name, key in more.items() if given.get(name) is not None}
    if not chosen:
        return {"kind": "agentTurn", **stated} if stated else None
    if stated and chosen != ["message"]:
        raise CommandFailed("--model, --thinking and --timeout go with --message.", Exit.USAGE)
    kind = kinds[chosen[0]]
    return {"kind": kind, ("message" if kind == "agentTurn" else "text"): given[chosen[0]], **stated}


def _delivery(given: dict[str, Any]) -> dict[str, Any] | None:
    address = {"channel": given.get("channel"), "to": given.get("to"), "accountId": given.get("account")}
    stated = {key: value for key, value in address.items() if value is not None}
    if given.get("webhook"):
        if stated or given.get("announce"):
            told = "--webhook takes the place of a chat; for both, write `notify:` into the automation."
            raise CommandFailed(told, Exit.USAGE)
        return {"mode": "webhook", "to": given["webhook"]}
    if given.get("announce") is False:
        if stated:
            raise CommandFailed("--no-announce and an address do not go together.", Exit.USAGE)
        return {"mode": "none"}
    return {"mode": "announce", **stated} if stated or given.get("announce") else None


def _next(job: dict[str, Any]) -> str:
    due = local_time(job["state"].get("nextRunAtMs"))
    return f"next on {due}" if due else "it is no longer due" if job["enabled"] else "it is switched off"


def _what(job: dict[str, Any]) -> str:
    payload = job["payload"]
    text = " ".join(str(payload.get("message") or payload.get("text")).split())
    word = {"agentTurn": "tell the agent", "systemEvent": "event", "message": "say"}[payload["kind"]]
    return f"{word}: {text if len(text) <= 50 else f'{text[:49]}…'}"


def _state(job: dict[str, Any]) -> str:
    if not job["enabled"]:
        return "off"
    return str(job["state"].get("lastError") or job["state"].get("lastRunStatus") or "")
