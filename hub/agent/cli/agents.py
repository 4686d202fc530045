"""`homarus agents`: list the agents, add and remove them, and say who they are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.cli.verbs import Answer, verb
from hub.config.cli.config_files import ConfigTexts, refuse_broken, require_home, tell_effect, write_config

if TYPE_CHECKING:
    from hub.agent.agents import Agent, Agents
    from hub.config.checked import Checked

END = 1_000_000_000
"""An index behind the last item of any list; each one more appends one more."""
COLUMN = 44
"""So wide is a column of tools."""
_ID = click.argument("id", metavar="ID")
_NAME = click.option("--name", help="What it calls itself.")
_EMOJI = click.option("--emoji", help="A symbol that is shown with its name.")
_AVATAR = click.option("--avatar", metavar="FILE", help="A picture in its workspace: PNG, JPEG, GIF or WebP.")


@click.group("agents", cls=Group)
def command() -> None:
    """List the agents, add and remove them, and say who they are.

    Example:
      homarus agents add kitchen --name Cook --emoji 🍳
      homarus agents list
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the agents with their models, workspaces and bindings.

    Example:
      homarus agents list
    """
    checked = _checked(home)
    found = [each.as_dict() | {"bindings": _bindings(checked, each.id)} for each in _agents(checked, home).all()]
    if as_json:
        print_json(found)
        return
    rows = [
        (
            each["id"],
            " ".join(filter(None, [each["emoji"], each["name"]])),
            "yes" if each["default"] else "",
            each["model"] or "",
            each["workspace"],
            "; ".join(each["bindings"]),
        )
        for each in found
    ]
    print_table(rows, ("agent", "name", "default", "model", "workspace", "answers"))


@command.command("add")
@click.argument("id", metavar="[ID]", required=False)
@_NAME
@_EMOJI
@_AVATAR
@click.option("--model", help="Its model; without it models.default.")
@click.option("--workspace", metavar="DIR", help="Its directory; without it workspace-ID in the home directory.")
@click.option("--bind", multiple=True, metavar="CHANNEL[:ACCOUNT]", help="What it answers; again for each.")
@home_option
@json_option
def add(id: str | None, bind: tuple[str, ...], home: Path, as_json: bool, **given: str | None) -> None:
    """Add an agent; without an ID, its name and what it answers are asked for. Finer bindings: docs/access.md.

    Example:
      homarus agents add kitchen --name Cook --emoji 🍳 --model openai/gpt-5-mini
    """
    checked = _checked(home)
    agents = _agents(checked, home)
    if id is None:
        if as_json or not sys.stdin.isatty():
            raise CommandFailed("Name the agent: homarus agents add ID", Exit.USAGE)
        id, asked, bind = _ask_agent(agents)
        given |= asked
    if any(each.id == id for each in agents.all()):
        raise CommandFailed(f"There is an agent {id} already.", Exit.FINDINGS, {"code": "CONFLICT"})
    item = {"id": id, **{key: value for key, value in given.items() if value}}
    stated = _stated(checked)
    # Who answers now goes on to answer, also when nothing was written about agents so far.
    edits: dict[tuple[str | int, ...], Any] = (
        {("agents", len(stated)): item} if stated else {("agents",): [{"id": agents.default().id}, item]}
    )
    bindings = [{"agent": id, "match": _channel(*_pair(each))} for each in bind]
    if checked.config.raw.get("bindings"):
        edits |= {("bindings", END + at): each for at, each in enumerate(bindings)}
    elif bindings:
        edits["bindings",] = bindings
    _edit(home, checked, edits, {"id": id}, f"{id} is added.", as_json=as_json)


def _ask_agent(agents: Agents) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Ask for a new agent: its id, name, symbol and model, and what it answers."""
    from hub.agent.editing import free_id

    name = click.prompt("What is it called?")
    id = click.prompt("Its id, in the configuration", default=free_id(agents.all(), name))
    emoji = click.prompt("A symbol", default="", show_default=False)
    model = click.prompt("Its model, if not the default one", default="", show_default=False)
    places = click.prompt("Channels that it answers, such as telegram signal:family", default="", show_default=False)
    return id, {"name": name, "emoji": emoji, "model": model}, tuple(places.replace(",", " ").split())


@command.command("remove")
@_ID
@home_option
@json_option
def remove(id: str, home: Path, as_json: bool) -> None:
    """Take an agent out of the configuration; its workspace and its conversations stay where they are.

    Example:
      homarus agents remove kitchen
    """
    checked = _checked(home)
    agent = _agents(checked, home).get(id)
    if agent.default:
        raise CommandFailed(
            f"{id} is the default agent, which answers where no other does. Make another one the default first: set "
            "its default to true and that of this one to false.",
            Exit.FINDINGS,
            {"code": "CONFLICT"},
        )
    told = f"{id} is removed; its workspace {agent.workspace} and its conversations stay."
    _edit(home, checked, {("agents", _place(checked, id)): None}, {"id": id, "removed": True}, told, as_json=as_json)


@command.command("identity")
@_ID
@_NAME
@_EMOJI
@_AVATAR
@home_option
@json_option
def identity(id: str, name: str | None, emoji: str | None, avatar: str | None, home: Path, as_json: bool) -> None:
    """Show or change who an agent is: its name, symbol and picture. An empty value takes one away.

    Example:
      homarus agents identity main --name Nova --emoji 🦉
      homarus agents identity main --avatar ""
    """
    checked = _checked(home)
    agent = _agents(checked, home).get(id)
    given = {key: value for key, value in (("name", name), ("emoji", emoji), ("avatar", avatar)) if value is not None}
    if not given:
        shown = {"id": agent.id, "name": agent.name, "emoji": agent.emoji, "avatar": agent.avatar}
        print_json(shown) if as_json else click.echo("\n".join(f"{key}: {value or ''}" for key, value in shown.items()))
        return
    if given.get("avatar"):
        _check_picture(agent, given["avatar"])
    stated = _stated(checked)
    edits: dict[tuple[str | int, ...], Any] = {("agents",): [{"id": id, **given}]}
    if stated:
        place = _place(checked, id)
        edits = {("agents", place, key): value or None for key, value in given.items() if value or key in stated[place]}
    _edit(home, checked, edits, {"id": id, **given}, f"{id} is changed.", as_json=as_json)


@verb(command, name="show", columns=("group", "on", "off"))
@_ID
def show(client: HubClient, id: str) -> Answer:
    """Show how an agent of the running hub is set up, with its tools by group.

    Example:
      homarus agents show kitchen
    """
    found = client.call("agents.get", {"agentId": id})
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for tool in found["tools"]:
        groups.setdefault(tool["group"], ([], []))[0 if tool["on"] and not tool["barred"] else 1].append(tool["name"])
    rows = []
    for group, (on, off) in sorted(groups.items()):
        cells = zip_longest([group], _lines(on), _lines(off), fillvalue="")
        rows += [(name, ons, offs) for name, ons, offs in cells]
    return found, rows


@verb(command, name="set")
@_ID
@_NAME
@_EMOJI
@click.option("--model", help="Its model; an empty value is models.default.")
@click.option("--thinking", help="How much it thinks; an empty value leaves it to the model.")
@click.option("--on", multiple=True, metavar="TOOL", help="A tool, or group:GROUP, that is switched on.")
@click.option("--off", multiple=True, metavar="TOOL", help="A tool, or group:GROUP, that is switched off.")
@click.option("--answers", multiple=True, metavar="CHANNEL[:ACCOUNT]", help="All that it answers, and no others.")
@click.option("--budget-usd", type=float, help="US dollars it may spend a day; 0 is no bound of its own.")
@click.option("--default", is_flag=True, help="It answers where no other does.")
def set_(
    client: HubClient,
    id: str,
    on: tuple[str, ...],
    off: tuple[str, ...],
    answers: tuple[str, ...],
    budget_usd: float | None,
    default: bool,
    **plain: str | None,
) -> Answer:
    """Change an agent of the running hub; what is not named stays. The configuration keeps its comments.

    Example:
      homarus agents set kitchen --model openai/gpt-5-mini --off group:shell --on web_fetch
      homarus agents set kitchen --answers telegram --answers signal:family --budget-usd 0.50
    """
    change: dict[str, Any] = {key: value or None for key, value in plain.items() if value is not None}
    if on or off:
        change["tools"] = {**dict.fromkeys(on, True), **dict.fromkeys(off, False)}
    if answers:
        change["channels"] = [_channel(*_pair(each)) for each in answers]
    if budget_usd is not None:
        change["budget"] = {"cost_usd": budget_usd} if budget_usd else None
    if default:
        change["default"] = True
    if not change:
        raise CommandFailed(f"Say what to change, such as --model. See: homarus agents show {id}", Exit.FINDINGS)
    return client.call("agents.update", {"agentId": id, **change}), f"{id} is changed."


_PLACES = click.argument("places", metavar="CHANNEL[:ACCOUNT]...", nargs=-1, required=True)


@verb(command)
@_ID
@_PLACES
def bind(client: HubClient, id: str, places: tuple[str, ...]) -> Answer:
    """Let an agent answer these channels, or accounts of them, besides what it answers already.

    Another agent that answered one of them no longer does.

    Example:
      homarus agents bind kitchen telegram signal:family
    """
    mine, wanted = _bound(client, id), [_pair(each) for each in places]
    kinds = [each["channel"] for each in client.call("channels.kinds")["channels"]]
    known = {*kinds, *client.call("channels.status")["channelOrder"]}
    for channel, _ in wanted:
        if channel not in known:
            told = f"There is no channel {channel}; there are: {', '.join(sorted(known))}"
            raise CommandFailed(told, Exit.FINDINGS)
    return _bind(client, id, [*mine, *(each for each in wanted if each not in mine)])


@verb(command)
@_ID
@_PLACES
def unbind(client: HubClient, id: str, places: tuple[str, ...]) -> Answer:
    """Let an agent no longer answer these channels, or accounts of them; the default agent answers there then.

    Example:
      homarus agents unbind kitchen telegram
    """
    mine, unwanted = _bound(client, id), [_pair(each) for each in places]
    if missing := [each for each in unwanted if each not in mine]:
        bound = _shown(mine) or "none"
        raise CommandFailed(f"{id} is not bound to {_shown(missing)}; it is bound to {bound}.", Exit.FINDINGS)
    return _bind(client, id, [each for each in mine if each not in unwanted])


def _bound(client: HubClient, id: str) -> list[tuple[str, str | None]]:
    bindings = client.call("agents.get", {"agentId": id})["bindings"]
    return [(each["channel"], each["account"]) for each in bindings if each["agent"] == id]


def _bind(client: HubClient, id: str, places: Sequence[tuple[str, str | None]]) -> Answer:
    channels = [_channel(*each) for each in places]
    client.call("agents.update", {"agentId": id, "channels": channels})
    return {"id": id, "channels": channels}, f"{id} answers {_shown(places) or 'where no other does'}."


def _pair(place: str) -> tuple[str, str | None]:
    channel, _, account = place.partition(":")
    return channel, account or None


def _channel(name: str, account: str | None) -> dict[str, str]:
    return {"channel": name, **({"account": account} if account else {})}


def _shown(places: Iterable[tuple[str, str | None]]) -> str:
    return ", ".join(":".join(filter(None, place)) for place in places)


def _checked(home: Path) -> Checked:
    from hub.cli.configured import check_home

    require_home(home)
    checked = check_home(home)
    refuse_broken(checked, ("agents",))
    return checked


def _lines(names: Sequence[str]) -> list[str]:
    """Return names as lines that fit a column."""
    return wrap(", ".join(names), COLUMN, break_long_words=False, break_on_hyphens=False)


def _agents(checked: Checked, home: Path) -> Agents:
    from hub.agent.agents import Agents
    from hub.storage.homedir import Home

    return Agents(checked.config.or_default("agents"), Home(home))


def _bindings(checked: Checked, id: str) -> list[str]:
    found = checked.config.or_default("bindings")
    return [
        ", ".join(f"{key} {value}" for key, value in each["match"].items() if value is not None)
        for each in found
        if each["agent"] == id
    ]


def _stated(checked: Checked) -> list[Mapping[str, Any]]:
    """Return the configuration of agents as written, without defaults."""
    found = checked.config.raw.get("agents")
    if isinstance(found, Mapping):
        raise CommandFailed("agents: is one agent, not a list; put a dash before it.", Exit.INVALID_CONFIGURATION)
    return list(found or ())


def _place(checked: Checked, id: str) -> int:
    return next(place for place, each in enumerate(_stated(checked)) if each.get("id") == id)


def _check_picture(agent: Agent, name: str) -> None:
    from hub.agent.workspace.avatar import read_avatar

    read_avatar(agent.workspace, name)


def _edit(
    home: Path,
    checked: Checked,
    edits: Mapping[tuple[str | int, ...], Any],
    result: Mapping[str, Any],
    told: str,
    *,
    as_json: bool,
) -> None:
    """Write values, or remove those that are None, in the file that holds the agent."""
    from hub.config import edit
    from hub.config.locate import locate

    texts = ConfigTexts(home)
    changed: dict[str, str] = {}
    for keys, value in edits.items():
        file, inner = locate(checked.config.raw, keys, texts.read)
        if isinstance(last := keys[-1], int) and last > END:  # what was appended before has moved the end
            inner = (*inner[:-1], int(inner[-1]) + last - END)
        text = changed.get(file, texts.read(file))
        changed[file] = edit.remove(text, inner) if value is None else edit.set_value(text, inner, value)
    written: Mapping[str, Any] = {}
    for file, text in changed.items():
        written = write_config(home, file, text, texts.hashes.get(file))
    if as_json:
        print_json(result)
        return
    click.echo(told)
    tell_effect(home, written)
