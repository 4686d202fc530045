"""`homarus channels`: list the accounts of chat platforms, try them, add and remove them."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import ask_secret, home_option, json_option, print_json, print_table
from hub.cli.verbs import Answer, verb
from hub.config.suggest import did_you_mean
from hub.messaging.cli.directory import COLUMNS, EMPTY, listed, rows

CALL_LIMIT_S = 90.0
LINK_LOOK_S = 2.0
DEFAULT_ACCOUNT = "default"
_CHANNEL = click.argument("channel", metavar="CHANNEL")
_COLUMNS = ("channel", "account", "as", "state", "heard from", "")
_NO_ACCOUNT = "No account is configured; `homarus channels add CHANNEL` adds one."
_ACCOUNT = click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Name of the account.")


@click.group("channels", cls=Group)
def command() -> None:
    """List, try, add and remove the accounts of chat platforms.

    Example:
      homarus channels add telegram
      homarus channels status
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List the accounts, and the channels that can be added.

    Example:
      homarus channels list --json
    """
    client = HubClient(home)
    accounts = _accounts(client.call("channels.status"))
    kinds = HubClient(home).call("channels.kinds")["channels"]
    if as_json:
        print_json({"accounts": accounts, "available": [each["channel"] for each in kinds]})
        return
    if accounts:
        print_table(
            [(each["channel"], each["accountId"], each.get("name", ""), each["state"]) for each in accounts],
            ("channel", "account", "as", "state"),
        )
    else:
        click.echo("There are no accounts yet. Add one with `homarus channels add CHANNEL`.")
    click.echo("\nTo add: " + ", ".join(each["channel"] for each in kinds))


@verb(command, columns=_COLUMNS, empty=_NO_ACCOUNT)
@click.argument("channel", metavar="[CHANNEL]", required=False)
def status(client: HubClient, channel: str | None) -> Answer:
    """Show how the accounts are doing. Exits 1 when one is not connected.

    Example:
      homarus channels status telegram
    """
    return _shown(client, channel, probe=False)


@verb(command, columns=_COLUMNS, empty=_NO_ACCOUNT)
@click.argument("channel", metavar="[CHANNEL]", required=False)
def probe(client: HubClient, channel: str | None) -> Answer:
    """Ask the platforms whether they can be reached, and which rights the accounts lack. Exits 1 when one cannot.

    Example:
      homarus channels probe
    """
    return _shown(client, channel, probe=True)


@verb(command, empty=_NO_ACCOUNT)
@click.argument("channel", metavar="[CHANNEL]", required=False)
def audit(client: HubClient, channel: str | None) -> Answer:
    """Say which rights the accounts have and lack on their platforms, and where reminders reach an owner.

    Asks as `homarus channels probe` does. Exits 1 when something is missing.

    Example:
      homarus channels audit
    """
    found = _asked(client, channel, probe=True)
    accounts, place = _accounts(found), found["ownerPlace"]
    good = place is not None and all(each["probe"].get("ok") and not each["probe"].get("missing") for each in accounts)
    lines = [line for each in accounts for line in _audited(each)]
    lines.append(
        "Nowhere: no owner has written in a direct chat, so that reminders and approvals stay in the dashboard."
        if place is None
        else f"Reminders and approvals reach an owner at {place['channel']}:{place['to']}."
    )
    return {"accounts": accounts, "ownerPlace": place}, "\n".join(lines), Exit.OK if good else Exit.FINDINGS


@verb(command, columns=COLUMNS, empty=EMPTY)
@click.argument("query", metavar="[NAME]", required=False)
@click.option("--channel", metavar="CHANNEL", help="Only of this channel.")
@click.option("--platforms", is_flag=True, help="Ask the platforms for NAME too, among those who never wrote.")
def directory(client: HubClient, query: str | None, channel: str | None, platforms: bool) -> Answer:
    """List the people and groups that wrote, as `homarus directory` does; with NAME, those called so.

    Example:
      homarus channels directory anna
      homarus channels directory anna --platforms
    """
    if platforms and not query:
        raise CommandFailed("--platforms looks up a NAME: homarus channels directory NAME --platforms", Exit.USAGE)
    chats = listed(client, query, channel, platforms=platforms)
    return chats, rows(chats)


@verb(command)
@_CHANNEL
@_ACCOUNT
def test(client: HubClient, channel: str, account: str) -> Answer:
    """Try one account: whether the platform answers, and as whom the account is known there.

    Example:
      homarus channels test telegram
    """
    found = client.call("channels.probe", {"channel": channel, "account": account}, timeout_s=CALL_LIMIT_S)
    words = "\n".join(
        f"{key}: {' '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in found.items()
        if value != []
    )
    return found, words, Exit.OK if found.get("ok") else Exit.FINDINGS


@command.command("add")
@_CHANNEL
@_ACCOUNT
@click.option("--set", "given", multiple=True, metavar="FIELD=VALUE", help="Value of a field, instead of being asked.")
@home_option
@json_option
def add(channel: str, account: str, given: tuple[str, ...], home: Path, as_json: bool) -> None:
    """Add an account: asks for what the platform needs, tries it, and keeps it when it works.

    Secrets go into secrets.yaml.

    Example:
      homarus channels add telegram
      homarus channels add telegram --account work --set token=123:ABC
    """
    kinds = HubClient(home).call("channels.kinds")["channels"]
    kind = next((each for each in kinds if each["channel"] == channel), None)
    if kind is None:
        names = [each["channel"] for each in kinds]
        hint = did_you_mean(channel, names) or f"there are: {', '.join(names)}"
        raise CommandFailed(f"There is no channel {channel!r} to add; {hint}", Exit.USAGE)
    values = _given(given, channel, kind["fields"])
    if account != DEFAULT_ACCOUNT:
        values["account"] = account
    way = _given_way(kind["ways"], values)
    if kind["documentation"] and any(each["asked"] and each["name"] not in values for each in kind["fields"]):
        click.echo(f"The steps to get what is asked here: {kind['documentation']}\n", err=as_json)
    way = way or _chosen_way(kind["ways"], err=as_json)
    other = {name for each in kind["ways"] for name in (*each["needs"], *each["may"])} - {*way["needs"], *way["may"]}
    for field in kind["fields"]:
        name = field["name"]
        if field["asked"] and name not in values and name not in other:
            needed = field["required"] or name in way["needs"]
            values[name] = ask_secret(
                _question(field, needed=needed),
                f"--set {name}=VALUE",
                default=None if needed else "",
                hidden=field["secret"],
                err=as_json,
            )
    _put(home, channel, values, as_json=as_json)


@command.command("login")
@_CHANNEL
@_ACCOUNT
@click.option("--set", "given", multiple=True, metavar="FIELD=VALUE", help="Value of a field, instead of being asked.")
@home_option
@json_option
def login(channel: str, account: str, given: tuple[str, ...], home: Path, as_json: bool) -> None:
    """Give an account new credentials, such as a new token, and try them; the old ones stay if they do not work.

    Example:
      homarus channels login telegram
    """
    fields = HubClient(home).call("channels.credentials", {"channel": channel, "account": account})["fields"]
    values = _given(given, channel, fields)
    for field in fields:
        if field["name"] not in values:
            values[field["name"]] = ask_secret(_question(field, needed=True), f"--set {field['name']}=VALUE")
    found = HubClient(home).call(
        "channels.login", {"channel": channel, "account": account, "credentials": values}, timeout_s=CALL_LIMIT_S
    )["account"]
    _tell(channel, found, as_json=as_json)


@command.command("link")
@_CHANNEL
@_ACCOUNT
@click.option("--number", metavar="NUMBER", help="The phone's number: type a code there instead of scanning one.")
@click.option("--pasted", metavar="ADDRESS", help="Of a sign-in: the address at which the browser ended.")
@home_option
@json_option
def link(channel: str, account: str, number: str | None, pasted: str | None, home: Path, as_json: bool) -> None:
    """Link an account to a phone: shows the code to scan there, until it is linked. Or sign in to it, in a browser.

    With --json it begins, prints where that stands, and does not wait.

    Example:
      homarus channels link whatsapp_web
      homarus channels link whatsapp_web --number +4915112345678
      homarus channels link email
    """
    step = _begin_link(home, channel, account, number=number, pasted=pasted)
    if as_json:
        print_json(step)
        return
    _show_link(home, channel, account, step)


@verb(command)
@_CHANNEL
@_ACCOUNT
def remove(client: HubClient, channel: str, account: str) -> Answer:
    """Log an account out and remove it from the configuration.

    Example:
      homarus channels remove telegram --account work
    """
    client.call("channels.remove", {"channel": channel, "account": account}, timeout_s=CALL_LIMIT_S)
    text = f"{channel} ({account}) is removed; its secrets stay in secrets.yaml."
    return {"channel": channel, "account": account, "removed": True}, text


def _put(home: Path, channel: str, values: Mapping[str, Any], *, as_json: bool) -> None:
    found = HubClient(home).call("channels.add", {"channel": channel, "account": values}, timeout_s=CALL_LIMIT_S)
    account = found["account"]
    if account["linkable"] and not account["connected"] and not as_json:
        now = "sign in to it" if account["signsIn"] else "link it to a phone"
        click.echo(f"{channel} ({account['accountId']}) is added; now {now}.")
        _show_link(home, channel, account["accountId"], _begin_link(home, channel, account["accountId"]))
    else:
        _tell(channel, account, as_json=as_json)
    if not as_json and "pageUrl" not in account:
        click.echo(f"Now write to it: you get a code, and `homarus pairing approve {channel} CODE` lets you in.")


def _begin_link(home: Path, channel: str, account: str, **more: str | None) -> dict[str, Any]:
    params = {"channel": channel, "account": account, **{name: value for name, value in more.items() if value}}
    step: dict[str, Any] = HubClient(home).call("channels.link", params, timeout_s=CALL_LIMIT_S)
    return step


def _show_link(home: Path, channel: str, account: str, step: Mapping[str, Any]) -> None:
    """Show each code until the account is linked."""
    import segno

    shown, look = None, {"channel": channel, "account": account, "begin": False}
    while not step["linked"]:
        if step["error"]:
            raise CommandFailed(f"{channel} ({account}) is not linked: {step['error']}")
        code = step["url"] or step["code"] or step["qr"]
        if code is not None and code != shown:
            shown = code
            if step["url"]:
                click.echo(_how_to_sign_in(step, channel, account))
            elif step["code"]:
                click.echo(f"On the phone: Linked devices → Link a device → Link with phone number: {code}")
            else:
                click.echo("On the phone: Settings → Linked devices → Link a device, and scan this:")
                segno.make(code, error="l").terminal(compact=True)
        time.sleep(LINK_LOOK_S)
        step = HubClient(home).call("channels.link", look, timeout_s=CALL_LIMIT_S)
    click.echo(f"{channel} ({account}) is linked.")


def _how_to_sign_in(step: Mapping[str, Any], channel: str, account: str) -> str:
    if step["code"]:
        return f"Open {step['url']} on any device, type the code {step['code']}, and sign in."
    named = "" if account == DEFAULT_ACCOUNT else f" --account {account}"
    return (
        f"Open this page, and sign in:\n\n{step['url']}\n\n"
        "If the browser is on another machine, it ends at an address that does not open. Copy that, and in another "
        f"terminal:\nhomarus channels link {channel}{named} --pasted 'ADDRESS'"
    )


def _tell(channel: str, account: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(account)
        return
    who = f" as {account['name']}" if "name" in account else ""
    click.echo(f"{channel} ({account['accountId']}) is connected{who}.")
    if (page := account.get("pageUrl")) is not None:
        import segno

        click.echo(f"Its page is {page}")
        segno.make(page, error="l").terminal(compact=True)


def _given(pairs: tuple[str, ...], channel: str, fields: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the values that were given for fields that there are."""
    known = [field["name"] for field in fields]
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise CommandFailed("--set takes FIELD=VALUE, such as --set token=123:ABC", Exit.USAGE)
        if name not in known:
            hint = did_you_mean(name, known, known="There are") or f"See docs/channels/{channel}.md."
            raise CommandFailed(f"{channel} has no field {name!r}. {hint[0].upper()}{hint[1:]}", Exit.USAGE)
        values[name] = value
    return values


def _given_way(ways: Sequence[Mapping[str, Any]], values: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return the way whose fields were given, or one without fields for a channel that has no ways.

    Raises:
        CommandFailed: Fields of several ways were given.
    """
    if not ways:
        return {"needs": (), "may": ()}
    given = [(way, name) for way in ways for name in (*way["needs"], *way["may"]) if name in values]
    used = [way for way in ways if any(way is each for each, _ in given)]
    if len(used) > 1:
        told = " or ".join(f"{name} ({way['label']})" for way, name in given)
        raise CommandFailed(f"Only one of these can be set: {told}.", Exit.USAGE)
    return used[0] if used else None


def _chosen_way(ways: Sequence[Mapping[str, Any]], *, err: bool) -> Mapping[str, Any]:
    """Return the way that a person chooses.

    Args:
        err: Whether the choice is shown on standard error.

    Raises:
        CommandFailed: Nobody can be asked.
    """
    click.echo("There are several ways:", err=err)
    for number, way in enumerate(ways, 1):
        click.echo(f"  {number}  {way['label']}", err=err)
    options = " or ".join(f"--set {way['needs'][0]}=VALUE" for way in ways if way["needs"])
    while True:
        question = f"Which (1 to {len(ways)}; 1 without an answer)"
        answer = ask_secret(question, options, default="1", hidden=False, err=err)
        if answer in map(str, range(1, len(ways) + 1)):
            return ways[int(answer) - 1]
        if not sys.stdin.isatty():
            raise CommandFailed(f"{answer!r} is none of the ways. Choose one with {options}.", Exit.USAGE)


def _question(field: Mapping[str, Any], *, needed: bool) -> str:
    choices = f"one of {', '.join(field['choices'])}" if field["choices"] else ""
    default = f"{field['default']} without an answer" if field["default"] not in (None, "", []) else "optional"
    told = [field["description"].rstrip("."), choices, "" if needed else default]
    told = [each for each in told if each]
    return f"{field['name']} ({'; '.join(told)})" if told else str(field["name"])


def _asked(client: HubClient, channel: str | None, *, probe: bool) -> dict[str, Any]:
    params = {"probe": probe, **({"channel": channel} if channel else {})}
    found: dict[str, Any] = client.call("channels.status", params, timeout_s=CALL_LIMIT_S)
    return found


def _audited(account: Mapping[str, Any]) -> list[str]:
    """Return what an account may and may not do, in lines."""
    probe = account["probe"]
    who = f" as {account['name']}" if "name" in account else ""
    head = f"{account['channel']} ({account['accountId']}){who}"
    if not probe.get("ok"):
        return [f"{head}: {probe.get('error') or account['lastError'] or 'it is not connected'}"]
    told = [("has", each) for each in probe.get("rights", ())] + [("lacks", each) for each in probe.get("missing", ())]
    return [head, *(f"  {word:<5}  {text}" for word, text in told or [("has", "all that it needs, as far as it says")])]


def _shown(client: HubClient, channel: str | None, *, probe: bool) -> Answer:
    accounts = _accounts(_asked(client, channel, probe=probe))
    works = all(each["probe"].get("ok") if probe else each["connected"] for each in accounts)
    return accounts, [_row(each) for each in accounts], Exit.OK if works else Exit.FINDINGS


def _row(account: Mapping[str, Any]) -> tuple[str, ...]:
    heard = account["lastEventAt"]
    error = account["lastError"] or account.get("pageUrl") or ""
    if "probe" in account:
        probe = account["probe"]
        error = (
            " ".join(["reached.", *probe.get("missing", ())]) if probe.get("ok") else str(probe.get("error") or error)
        )
    since = "" if heard is None else f"{max(0, round(time.time() - heard / 1000))} s ago"
    return (account["channel"], account["accountId"], account.get("name", ""), account["state"], since, error)


def _accounts(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    accounts = status["channelAccounts"]
    return [{"channel": channel, **each} for channel in status["channelOrder"] for each in accounts[channel]]
