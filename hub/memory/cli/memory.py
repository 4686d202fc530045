"""`homarus memory`: what is remembered: found, added, forgotten, and the state of its index."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import WholeNumber, home_option, json_option, print_json
from hub.cli.verbs import Answer, verb
from hub.memory.cli.memory_files import changes, list_, show, undo
from hub.memory.cli.memory_intents import intents
from hub.memory.cli.memory_options import agent_option, given_params
from hub.memory.cli.memory_prints import count_of, print_entries, print_hits, print_status, print_synced, where
from hub.memory.cli.memory_tidy import tidy
from hub.memory.cli.memory_transfer import export, import_
from hub.memory.contract import HITS_LIMIT, MemoryKind

KINDS = tuple(kind.value for kind in MemoryKind)
INDEX_LIMIT_S = 3_660.0
"""A little longer than the hub itself takes at most."""


@click.group("memory", cls=Group)
def command() -> None:
    """Search, add to, forget from and maintain the memory.

    Example:
      homarus memory search "when was the boiler serviced"
      homarus memory status
    """


@verb(command)
@click.argument("query", nargs=-1, required=True)
@agent_option
@click.option("--limit", type=WholeNumber(1, HITS_LIMIT), help="How many passages at most.")
@click.option("--kind", type=click.Choice(KINDS), help="Only entries of this kind.")
@click.option("--person", metavar="ID", help="Only what this person said.")
@click.option("--session", metavar="KEY", help="Only what was said in this session.")
@click.option("--trusted", is_flag=True, help="Only what came from this home's people.")
@click.option("--why", is_flag=True, help="Show what moved each passage up or down.")
def search(
    client: HubClient, query: tuple[str, ...], limit: int | None, trusted: bool, why: bool, **only: str | None
) -> Answer:
    """Search the memory by meaning and by word for QUERY; an empty one gives the latest entries.

    Example:
      homarus memory search "when was the boiler serviced" --limit 3
    """
    params = {"query": " ".join(query), **given_params(limit=limit, trusted=trusted or None, **only)}
    answer = client.call("memory.search", params)
    return answer, partial(print_hits, answer, why=why)


@verb(command)
@click.argument("text", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(KINDS), default="fact", show_default=True, help="The kind of entry.")
@click.option("--replaces", metavar="WORDS", help="Words of the entry that is no longer true; it is struck out.")
@click.option("--shared", is_flag=True, help="Let everybody in this home know it.")
@agent_option
def add(
    client: HubClient, text: tuple[str, ...], kind: str, replaces: str | None, shared: bool, agent: str | None
) -> Answer:
    """Remember TEXT: one sentence that can be understood on its own.

    Example:
      homarus memory add "Anna is allergic to nuts" --kind person
    """
    params = {"text": " ".join(text), "kind": kind, "shared": shared, **given_params(agent=agent, replaces=replaces)}
    answer = client.call("memory.add", params)
    lines = [f"{'Known already' if answer['known'] else 'Remembered'}: {where(answer)}"]
    lines += [f"Struck: {where(each)}  {each['text']}" for each in answer["struck"]]
    return answer, "\n".join(lines)


@command.command("forget")
@click.argument("query", nargs=-1)
@click.option("--session", metavar="KEY", help="What came from this session.")
@click.option("--person", metavar="ID", help="What came from this person.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and leave it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@agent_option
@home_option
@json_option
def forget(
    query: tuple[str, ...],
    session: str | None,
    person: str | None,
    dry_run: bool,
    yes: bool,
    agent: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """Forget the entries that have all words of QUERY, or came from a session or a person, for good.

    Entries are list items; by words, five are forgotten at most.

    Example:
      homarus memory forget "boiler serviced" --dry-run
      homarus memory forget --session agent:main:main --yes
    """
    client = HubClient(home)
    what = given_params(query=" ".join(query).strip() or None, session=session, person=person)
    if not what:
        raise CommandFailed("Say what to forget: some of its words, --session or --person.", Exit.USAGE)
    what |= given_params(agent=agent)
    if not yes or dry_run:
        found = client.call("memory.forget", {**what, "dry_run": True})
        if dry_run or not found["count"]:
            _tell_forgotten(found, "would be forgotten", as_json=as_json)
            return
        if as_json or not sys.stdin.isatty():
            told = count_of(found["count"], "entry", "entries")
            raise CommandFailed(
                f"{told} would be forgotten for good. Look with --dry-run, and confirm with --yes.",
                Exit.USAGE,
                {"code": "NOT_CONFIRMED", "count": found["count"]},
            )
        _tell_forgotten(found, "would be forgotten for good", as_json=False)
        click.confirm("Forget them?", abort=True)
    _tell_forgotten(client.call("memory.forget", what), "forgotten", as_json=as_json)


@verb(command)
@agent_option
def status(client: HubClient, agent: str | None) -> Answer:
    """Show the size of the memory, its search engines, and the cost of embedding.

    Example:
      homarus memory status
    """
    answer = client.call("memory.status", given_params(agent=agent))
    return answer, partial(print_status, answer)


@verb(command)
@click.option("--force", is_flag=True, help="Rebuild it beside the old one, which is searched until then.")
@agent_option
def index(client: HubClient, force: bool, agent: str | None) -> Answer:
    """Update the index from the files, and print the result.

    Example:
      homarus memory index --force
    """
    answer = client.call("memory.index", {"force": force, **given_params(agent=agent)}, timeout_s=INDEX_LIMIT_S)
    return answer, partial(print_synced, answer), Exit.FINDINGS if answer["problem"] else Exit.OK


@verb(command)
@agent_option
def verify(client: HubClient, agent: str | None) -> Answer:
    """Compare the files with the index; differences are repaired and printed (exit 1).

    Example:
      homarus memory verify --json
    """
    answer = client.call("memory.verify", given_params(agent=agent), timeout_s=INDEX_LIMIT_S)
    files, passages = count_of(answer["files"], "file", "files"), count_of(answer["chunks"], "passage", "passages")
    ending = "they agree" if answer["ok"] else "the index is being repaired" if answer["repaired"] else "see above"
    compared = f"{files} and {passages} were compared; {ending}."
    return answer, "\n".join([*answer["problems"], compared]), Exit.OK if answer["ok"] else Exit.FINDINGS


def _tell_forgotten(answer: Mapping[str, Any], word: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    print_entries(answer["forgotten"])
    if answer["count"] > len(answer["forgotten"]):
        click.echo(f"… and {answer['count'] - len(answer['forgotten'])} more")
    if answer["count"]:
        click.echo(f"{count_of(answer['count'], 'entry', 'entries')} {word}.")
    else:
        click.echo("Nothing matches; by words only list items are forgotten, other text is yours to edit.")


for _each in (list_, show, changes, undo, tidy, import_, export, intents):
    command.add_command(_each)
