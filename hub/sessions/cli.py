"""`homarus sessions`: the conversations there are."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import WholeNumber, home_option, json_option, print_json, print_table
from hub.cli.times import local_time
from hub.cli.verbs import Answer, verb


@click.group("sessions", cls=Group)
def command() -> None:
    """List, search, show, export, copy, archive, prune, reset and delete conversations.

    Example:
      homarus sessions list
      homarus sessions show main --json
    """


@verb(command, columns=("session", "updated", "", "name"))
@click.option("--agent", metavar="ID", help="Only those of this agent.")
@click.option("--archived", is_flag=True, help="Those that are archived.")
@click.option("--snoozed", is_flag=True, help="Those that are snoozed.")
@click.option("--active", type=WholeNumber(min=1), metavar="MINUTES", help="Only those of the last MINUTES.")
def list_(client: HubClient, agent: str | None, archived: bool, snoozed: bool, active: int | None) -> Answer:
    """List the sessions, the latest first.

    Example:
      homarus sessions list --active 60
    """
    asked: dict[str, Any] = {"archived": archived, "snoozed": snoozed}
    asked |= {name: value for name, value in (("agentId", agent), ("activeMinutes", active)) if value}
    sessions = client.call("sessions.list", asked)["sessions"]
    if not sessions and (archived or snoozed):
        return sessions, f"No session is {'archived' if archived else 'snoozed'}."
    if not sessions:
        begin = 'No conversations yet. Start one: homarus chat "hello"'
        return sessions, "Nothing was said in that time." if active else begin
    return sessions, [
        (
            each["key"],
            local_time(each.get("updatedAt")),
            "unread" if each["unread"] else "",
            each.get("displayName") or "",
        )
        for each in sessions
    ]


@verb(command)
def tree(client: HubClient) -> Answer:
    """Show which sessions are copies, each below its original.

    Example:
      homarus sessions tree
    """
    sessions = client.call("sessions.tree")["sessions"]
    return sessions, "\n".join(
        map(_branch, sessions)
    ) or "No session has been copied. Copy one: homarus sessions fork main"


@command.command("show")
@click.argument("key")
@click.option("--past", metavar="ID", help="A transcript from before a reset, as `sessions search` names it.")
@home_option
@json_option
def show(key: str, past: str | None, home: Path, as_json: bool) -> None:
    """Show the transcript of the session KEY; with --json its entries as stored. Its file is named on stderr.

    Example:
      homarus sessions show main
      homarus sessions show agent:main:main --json
    """
    answer = HubClient(home).call("sessions.transcript", {"key": key, **({"sessionId": past} if past else {})})
    click.echo(f"# {answer['key']}\n# {answer['file']}", err=True)
    if as_json:
        print_json(answer["entries"])
        return
    for entry in answer["entries"]:
        if message := entry.get("message"):
            _print_message({**message, "timestamp": entry.get("ts_ms")}, as_json=False)


@command.command("tail")
@click.argument("key")
@click.option("--lines", "-n", type=WholeNumber(0, 1_000), default=10, show_default=True, help="How many messages.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until stopped.")
@home_option
@json_option
def tail(key: str, lines: int, follow: bool, home: Path, as_json: bool) -> None:
    """Show the last messages of the session KEY. With --json each is one line.

    Example:
      homarus sessions tail main -f
    """
    import asyncio  # `sessions list` needs neither it nor aiohttp

    from hub.cli.hub_link import HubLink

    async def show() -> None:
        link = HubLink(home)
        await link.open()
        try:
            full = (await link.call("sessions.resolve", key=key))["key"]
            if follow:  # before the first look, so that nothing is missed in between
                await link.call("sessions.messages.subscribe", key=full)
            known = (await link.call("sessions.get", key=full, limit=lines))["messages"]
            for message in known:
                _print_message(message, as_json=as_json)
            shown = {message["id"] for message in known}
            while follow and (event := await link.events.get()) is not None:
                name, told = event
                if name == "session.message" and told["messageId"] not in shown:
                    stored = {**told["message"], "id": told["messageId"], "timestamp": told["ts"]}
                    _print_message(stored, as_json=as_json)
            if follow:
                raise CommandFailed("The hub has closed the connection.", Exit.NOT_REACHABLE)
        finally:
            await link.close()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(show())


@verb(command)
@click.argument("key")
@click.option("--keep", metavar="TEXT", help="What the summary should contain.")
def compact(client: HubClient, key: str, keep: str | None) -> Answer:
    """Summarise the session KEY, so that its next turn sends less to the model. The transcript keeps every word.

    Example:
      homarus sessions compact main --keep "the plans for the garden"
    """
    done = client.call("sessions.compact", {"key": key, **({"instructions": keep} if keep else {})})
    if done["pending"]:
        return done, f"{key} is being summarised."
    if not done["compacted"]:
        return done, f"{key} is too short to be summarised."
    return done, f"{done['messages']} messages are summarised: {done['tokensBefore']} to {done['tokensAfter']} tokens."


@verb(command)
@click.argument("words", nargs=-1, required=True)
@click.option("--agent", metavar="ID", help="Only conversations of this agent.")
@click.option("--limit", type=WholeNumber(1, 100), default=20, show_default=True, help="Maximum number of messages.")
def search(client: HubClient, words: tuple[str, ...], agent: str | None, limit: int) -> Answer:
    """Search for messages with all of the WORDS in all conversations, also from before they were reset.

    Example:
      homarus sessions search boiler service
    """
    asked = {"query": " ".join(words), "limit": limit, **({"agentId": agent} if agent else {})}
    messages = client.call("sessions.search", asked)["messages"]
    return messages, "\n".join(map(_found, messages)) or "No message has all of these words."


@command.command("export")
@click.argument("key")
@click.option(
    "--format", "form", type=click.Choice(["md", "html", "jsonl"]), default="md", help="The form.  [default: md]"
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="The file.  [default: print it]")
@home_option
@json_option
def export(key: str, form: str, output: Path | None, home: Path, as_json: bool) -> None:
    """Export the session KEY: Markdown or HTML to read, or everything that is stored as JSON lines.

    Example:
      homarus sessions export main --format html --output boiler.html
    """
    answer = HubClient(home).call("sessions.export", {"key": key, "format": form})
    if output is not None:
        output.write_text(answer["text"], encoding="utf-8")
    if as_json:
        print_json(answer if output is None else {"key": answer["key"], "format": form, "file": str(output)})
        return
    click.echo(answer["text"] if output is None else f"{key} is now in {output}.", nl=output is not None)


@verb(command)
@click.argument("key")
@click.option("--title", metavar="TEXT", help="Of the new session.  [default: that of KEY]")
def fork(client: HubClient, key: str, title: str | None) -> Answer:
    """Copy the session KEY up to now into a new one, which continues on its own.

    Example:
      homarus sessions fork main --title "What if"
    """
    answer = client.call("sessions.fork", {"key": key, **({"label": title} if title else {})})
    return answer, f"{key} is copied to {answer['key']}."


@verb(command)
@click.argument("key")
@click.option("--undo", is_flag=True, help="Take it back into the lists.")
def archive(client: HubClient, key: str, undo: bool) -> Answer:
    """Leave the session KEY out of lists until something happens in it; nothing is deleted.

    Example:
      homarus sessions archive agent:main:webchat:direct:guest
    """
    answer = client.call("sessions.patch", {"key": key, "archived": not undo})
    return answer, f"{key} is {'in the lists again' if undo else 'archived'}."


@verb(command)
@click.argument("key")
@click.option("--hours", type=WholeNumber(1, 8_760), default=24, show_default=True, help="For how long.")
@click.option("--undo", is_flag=True, help="Take it back into the lists.")
def snooze(client: HubClient, key: str, hours: int, undo: bool) -> Answer:
    """Leave the session KEY out of lists for some hours, or until something happens in it.

    Example:
      homarus sessions snooze main --hours 3
    """
    until = None if undo else int((time.time() + hours * 3_600) * 1_000)
    answer = client.call("sessions.patch", {"key": key, "snoozedUntil": until})
    return answer, f"{key} is {'in the lists again' if undo else 'snoozed'}."


@command.command("prune")
@click.option("--dry-run", is_flag=True, help="Delete nothing; show what would go.")
@click.option("--older-than", metavar="DAYS", type=WholeNumber(1, 3650), help="In place of session.prune_after.")
@home_option
@json_option
def prune(dry_run: bool, older_than: int | None, home: Path, as_json: bool) -> None:
    """Delete old transcripts of deleted and archived sessions and from before resets, and what is over the disk budget.

    Example:
      homarus sessions prune --dry-run
      homarus sessions prune --older-than 30
    """
    asked = {"dryRun": dry_run, **({"olderThanDays": older_than} if older_than else {})}
    answer = HubClient(home).call("sessions.prune", asked)
    if as_json:
        print_json(answer)
        return
    if not answer["afterDays"] and not answer["budgetBytes"]:
        click.echo("Neither session.prune_after nor session.disk_budget is set; name the days: --older-than 30")
        return
    rows = [
        (each["kind"], local_time(each["changedAt"]), _size(each["bytes"]), each["key"] or "")
        for each in answer["files"]
    ]
    if rows:
        print_table(rows, ("kind", "changed", "size", "session"))
    done = "would be deleted" if dry_run else "deleted"
    click.echo(f"{len(rows)} files {done} ({_size(answer['bytes'])}); {_size(answer['keptBytes'])} kept.")


@verb(command)
@click.argument("key")
def reset(client: HubClient, key: str) -> Answer:
    """Reset the session KEY; the old transcript is kept.

    Example:
      homarus sessions reset main
    """
    answer = client.call("sessions.reset", {"key": key})
    return answer, f"{key} was reset."


@command.command("delete")
@click.argument("key")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def delete(key: str, yes: bool, home: Path, as_json: bool) -> None:
    """Delete the session KEY; its transcript is set aside, not destroyed.

    Example:
      homarus sessions delete agent:main:webchat:direct:guest --yes
    """
    client = HubClient(home)
    if not yes and not as_json and sys.stdin.isatty():
        click.confirm(f"Delete {key}?", abort=True)
    answer = client.call("sessions.delete", {"key": key})
    print_json(answer) if as_json else click.echo(f"{key} is deleted.")


def _print_message(message: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(message, ensure_ascii=False))
        return
    click.echo(f"{local_time(message['timestamp'])} {message['role']}: {_text(message)}")


def _branch(session: dict[str, Any]) -> str:
    branch = "   " * (session["depth"] - 1) + "└─ " if session["depth"] else ""
    return f"{branch}{session['key']}  {session.get('displayName') or ''}".rstrip()


def _found(message: dict[str, Any]) -> str:
    past = f" --past {message['sessionId']}" if message["past"] else ""
    return f"{local_time(message['timestamp'])} {message['key']}{past}\n  {message['role']}: {message['text']}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:.1f} MB"


def _text(message: dict[str, Any]) -> str:
    parts = []
    for block in message.get("content", ()):
        match block.get("type"):
            case "text":
                parts.append(block["text"])
            case "toolCall":
                parts.append(f"[{block['name']} {json.dumps(block['arguments'], ensure_ascii=False)}]")
            case "image":
                parts.append("[image]")
    return " ".join(parts)
