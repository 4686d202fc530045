"""`homarus models`: which models there are, whether they answer, their fallbacks and aliases, and credentials."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import WholeNumber, ask_secret, home_option, json_option, print_json, print_table
from hub.cli.remote import RemoteHome
from hub.cli.verbs import Answer, verb
from hub.config.files import ROOT_FILE
from hub.storage.instance_lock import read_running

if TYPE_CHECKING:
    from hub.models.home_accounts import HomeAccounts

CALL_LIMIT_S = 120.0
NEW_SHOWN = 20
SIGN_IN_LIMIT_S = 600.0
WAIT_S = 45.0
_PROVIDER = click.argument("provider", metavar="PROVIDER")


@click.group("models", cls=Group)
def command() -> None:
    """See and try models, and manage fallbacks, aliases and credentials.

    Example:
      homarus models status
      homarus models auth add anthropic --id work
    """


@command.command("status")
@home_option
@json_option
def status(home: Path, as_json: bool) -> None:
    """Show which model answers, how each key is doing, and how far budgets are used.

    Example:
      homarus models status --json
    """
    found = HubClient(home).call("models.status")
    if as_json:
        print_json(found)
        return
    resolved = found["resolved"]
    click.echo(f"Default: {resolved['ref'] or '-'} ({resolved['reason']})")
    click.echo(f"Fallbacks: {', '.join(found['fallbacks']) or '-'}\n")
    rows = [
        (provider["name"], key["id"], key["key"] or "-", _state(provider, key))
        for provider in found["providers"]
        for key in provider["credentials"]
    ]
    print_table(rows, ("provider", "credential", "key from", "state"))
    for budget in found["budgets"]:
        limits = ", ".join(f"{name} {limit:g}" for name, limit in budget["limits"].items())
        click.echo(f"\nBudget per {budget['per']} {budget['only'] or ''}({limits}; then {budget['then']})")
        for each in budget["spent"]:
            spent = ", ".join(f"{name} {each[name]:g}" for name in budget["limits"])
            click.echo(f"  {each['name'] or 'home'}: {spent}")


@verb(command, columns=("model", "window", "takes"))
@click.argument("provider", metavar="[PROVIDER]", required=False)
def list_(client: HubClient, provider: str | None) -> Answer:
    """List the models, of one provider if you like.

    Example:
      homarus models list anthropic
    """
    models = client.call("models.list")["models"]
    found = [{**each, "id": each["ref"]} for each in models if provider in (None, each["provider"])]
    return found, [(each["id"], f"{each['contextWindow']:,}", ", ".join(each["input"])) for each in found]


@verb(command, name="set")
@click.argument("model")
def set_(client: HubClient, model: str) -> Answer:
    """Make MODEL the default: provider/id, an alias, or auto for the first that is set up.

    Example:
      homarus models set anthropic/claude-sonnet-4-5
    """
    found = client.call("models.default", {"model": model})
    return found, f"The default model is {model} from now on."


@command.command("usage")
@click.option("--days", type=WholeNumber(1, 400), default=30, show_default=True, help="How many days, with today.")
@click.option(
    "--by",
    type=click.Choice(["model", "agent", "session", "day", "channel", "automation"]),
    default="model",
    show_default=True,
    help="What is summed.",
)
@home_option
@json_option
def usage(days: int, by: str, home: Path, as_json: bool) -> None:
    """Show calls, tokens and cost by model, agent, session, day, channel or automation.

    Example:
      homarus models usage --days 7 --by agent
    """
    found = HubClient(home).call("models.usage", {"days": days, "by": by})
    if as_json:
        print_json(found)
        return
    if not found["rows"]:
        click.echo(f"No model was called in {days} days.")
        return
    rows = [_used(str(each[by]), each) for each in found["rows"]]
    print_table([*rows, _used("total", found["total"])], (by, "calls", "tokens in", "cached", "out", "cost"))
    if found["count"] > len(rows):
        click.echo(f"{found['count'] - len(rows)} more are in the total.")


@verb(command, columns=("model", "credential", "answers", ""))
@click.argument("model", metavar="[MODEL]", required=False)
def test(client: HubClient, model: str | None) -> Answer:
    """Call a model with each of its keys; without MODEL the default and its fallbacks. Exits 1 when one fails.

    Example:
      homarus models test anthropic
    """
    found = client.call("models.test", {"model": model}, timeout_s=CALL_LIMIT_S)
    return found, [_tested(each) for each in found["results"]], Exit.OK if found["ok"] else Exit.FINDINGS


@verb(command, columns=("provider", "models", ""))
def scan(client: HubClient) -> Answer:
    """Ask each provider for its models, and look for servers of models on this machine.

    Example:
      homarus models scan
    """
    found = client.call("models.scan", timeout_s=CALL_LIMIT_S)
    rows = [(name, str(len(models)), "") for name, models in found["providers"].items()]
    rows += [(name, "-", problem) for name, problem in found["problems"].items()]
    rows += [(each["provider"], str(len(each["models"])), f"at {each['base_url']}") for each in found["local"]]
    return found, rows


@verb(command)
def refresh(client: HubClient) -> Answer:
    """Fetch windows and prices of models from the public list that litellm keeps at GitHub.

    Example:
      homarus models refresh
    """
    found = client.call("models.refresh", timeout_s=CALL_LIMIT_S)
    shown = found["new"][:NEW_SHOWN]
    more = [f"and {len(found['new']) - len(shown)} more"] if len(found["new"]) > len(shown) else []
    new = [f"New: {', '.join([*shown, *more])}"] if shown else []
    return found, "\n".join([f"{found['models']} models of {found['vendors']} vendors are known.", *new])


@verb(command)
@click.argument("action", type=click.Choice(["list", "add", "remove", "clear"]), default="list")
@click.argument("model", metavar="[MODEL]", required=False)
def fallbacks(client: HubClient, action: str, model: str | None) -> Answer:
    """List, add to, remove from or clear the models that are tried when the chosen one fails.

    Example:
      homarus models fallbacks add openai/gpt-5-mini
    """
    known = client.call("models.status")["fallbacks"]
    if action in ("add", "remove"):
        if model is None:
            raise CommandFailed(f"Name the model: homarus models fallbacks {action} MODEL", Exit.USAGE)
        if action == "remove" and model not in known:
            raise CommandFailed(f"{model} is not a fallback; there are {', '.join(known) or 'none'}", Exit.FINDINGS)
    changed = {
        "list": known,
        "add": [*known, *([model] if model not in known else [])],
        "remove": [each for each in known if each != model],
        "clear": [],
    }[action]
    if changed != known:
        known = client.call("models.fallbacks", {"models": changed})["fallbacks"]
    return known, "\n".join(known) or "There are no fallbacks."


@verb(command)
@_PROVIDER
def remove(client: HubClient, provider: str) -> Answer:
    """Take a provider out of the configuration, with its key; what named its models goes back to auto.

    Example:
      homarus models remove my_server
    """
    found = client.call("models.providers.remove", {"provider": provider})
    return found, f"{provider} is removed; the default is {found['default']}."


@verb(command, columns=("alias", "model"))
@click.argument("action", type=click.Choice(["list", "set", "remove"]), default="list")
@click.argument("name", metavar="[NAME]", required=False)
@click.argument("model", metavar="[MODEL]", required=False)
def aliases(client: HubClient, action: str, name: str | None, model: str | None) -> Answer:
    """List, set or remove other names for models.

    Example:
      homarus models aliases set fast openai/gpt-5-mini
    """
    if (action == "set" and not (name and model)) or (action == "remove" and not name):
        raise CommandFailed("Write: homarus models aliases set NAME MODEL, or: remove NAME", Exit.USAGE)
    params: dict[str, Any] = {} if action == "list" else {"name": name}
    if action == "set":
        params["model"] = model
    known = client.call("models.aliases", params)["aliases"]
    return known, list(known.items())


@command.group("auth", cls=Group)
def auth() -> None:
    """Add, list and remove keys and sign-ins of providers.

    Example:
      homarus models auth list
    """


@verb(auth, name="list", columns=("provider", "credential", "kind", "account", "ends"))
def auth_list(client: HubClient) -> Answer:
    """List the credentials that were added here, and when they end; those of the configuration are in `models status`.

    Example:
      homarus models auth list
    """
    found = client.call("models.auth.list")["credentials"]
    return found, [(each["provider"], each["id"], each["kind"], each["account"] or "", _ends(each)) for each in found]


@auth.command("add")
@_PROVIDER
@click.option("--id", "id_", default="added", show_default=True, help="Name of the credential.")
@home_option
@json_option
def auth_add(provider: str, id_: str, home: Path, as_json: bool) -> None:
    """Ask for an API key, try it, and keep it unless the provider refuses it.

    Example:
      homarus models auth add openai --id work
    """
    _add(home, provider, id_, "Key", "api_key", as_json=as_json)


@auth.command("setup-token")
@click.argument("provider", metavar="[PROVIDER]", default="anthropic")
@click.option("--id", "id_", default="setup-token", show_default=True, help="Name of the credential.")
@home_option
@json_option
def auth_setup_token(provider: str, id_: str, home: Path, as_json: bool) -> None:
    """Ask for the token that `claude setup-token` prints, try it, and keep it.

    Example:
      homarus models auth setup-token anthropic
    """
    _add(home, provider, id_, "Token", "setup_token", as_json=as_json)


@auth.command("login")
@_PROVIDER
@click.option("--id", "id_", default="sign-in", show_default=True, help="Name of the credential.")
@click.option("--paste", is_flag=True, help="Ask for the address that the browser shows after it, on another machine.")
@home_option
@json_option
def auth_login(provider: str, id_: str, paste: bool, home: Path, as_json: bool) -> None:
    """Sign in at a provider in the browser; it needs no running hub.

    Example:
      homarus models auth login openai
    """
    with _accounts(home) as accounts:
        begun = accounts.call("models.auth.login", {"provider": provider, "id": id_})
        click.echo(f"Open this page, and sign in:\n\n{begun['url']}\n", err=as_json)
        if paste or not begun["listens"]:
            pasted = click.prompt("Then paste the address that the browser shows")
            completed = {"state": begun["state"], "pasted": pasted}
            accounts.call("models.auth.complete", completed, timeout_s=CALL_LIMIT_S)
        else:
            _await(accounts, begun["state"])
    if as_json:
        print_json({"provider": provider, "id": id_, "signed_in": True})
        return
    click.echo(f"Signed in at {provider}; `homarus models test {provider}@{id_}` tries it.")


@verb(auth, name="remove")
@_PROVIDER
@click.option("--id", "id_", required=True, help="Name of the credential.")
def auth_remove(client: HubClient, provider: str, id_: str) -> Answer:
    """Forget a credential that was added here.

    Example:
      homarus models auth remove openai --id work
    """
    client.call("models.auth.remove", {"provider": provider, "id": id_})
    return {"provider": provider, "id": id_, "removed": True}, f"{provider} ({id_}) is removed."


def _add(home: Path, provider: str, id: str, question: str, kind: str, *, as_json: bool) -> None:
    with _accounts(home) as accounts:
        known = accounts.call("models.auth.list")["credentials"]
        if any((each["provider"], each["id"]) == (provider, id) for each in known):
            raise CommandFailed(f"{provider} has a credential {id} already; give this one another --id.", Exit.FINDINGS)
        key = ask_secret(question, "a line of standard input", err=as_json)
        params = {"provider": provider, "id": id, "key": key, "kind": kind}
        found = accounts.call("models.auth.add", params, timeout_s=CALL_LIMIT_S)["credential"]
    by_hub = isinstance(accounts, HubClient)
    if as_json:
        print_json(found)
        return
    tried = found["test"]
    how = "and answers" if tried["ok"] else f"but could not be tried: {tried['error']}"
    if not by_hub:
        how = f"and can be tried once the hub runs, with `homarus models test {provider}@{id}`"
    click.echo(f"{provider} ({id}) is kept, {how}.")


def _accounts(home: Path | RemoteHome) -> AbstractContextManager[HubClient | HomeAccounts]:
    """Return who answers `models.auth.*`: the hub, or where none runs on the home, this process."""
    if isinstance(home, RemoteHome) or read_running(home) is not None or not (home / ROOT_FILE).is_file():
        return nullcontext(HubClient(home))
    from hub.cli.configured import check_home
    from hub.models.home_accounts import HomeAccounts

    config = check_home(home).config
    if config.or_default("storage"):
        return nullcontext(HubClient(home))  # they are in the database, which only the hub writes
    return HomeAccounts(home, config.or_default("models"))


def _await(accounts: HubClient | HomeAccounts, state: str) -> None:
    deadline = time.monotonic() + SIGN_IN_LIMIT_S
    while time.monotonic() < deadline:
        params = {"state": state, "timeout_s": WAIT_S}
        if accounts.call("models.auth.wait", params, timeout_s=WAIT_S + 15)["done"]:
            return
    raise CommandFailed("Nobody completed the sign-in within ten minutes.", Exit.FINDINGS)


def _state(provider: Mapping[str, Any], key: Mapping[str, Any]) -> str:
    if provider["obstacle"]:
        return str(provider["obstacle"])
    rests = [f"{each['reason']} on {each['model']} for {each['remaining_s']} s" for each in key["cooldowns"]]
    return "rests: " + "; ".join(rests) if rests else "set aside" if key["aside"] else "ready"


def _tested(each: Mapping[str, Any]) -> tuple[str, str, str, str]:
    answers, detail = ("yes", f"{each['duration_ms']} ms") if each["ok"] else ("no", str(each["error"]))
    return (str(each["model"]), str(each["credential"]), answers, detail)


def _used(name: str, each: Mapping[str, Any]) -> tuple[str, ...]:
    cached, cost = each["cache_read_tokens"] + each["cache_write_tokens"], each["cost_usd"]
    counts = (each["calls"], each["input_tokens"], cached, each["output_tokens"])
    return (name, *(f"{count:,}" for count in counts), "-" if cost is None else f"${cost:,.4f}")


def _ends(each: Mapping[str, Any]) -> str:
    if each["expires"] is None:
        return "-"
    left_min = round((each["expires"] - time.time()) / 60)
    renewed = ", renewed by itself" if each["renews"] else ""
    return f"in {left_min} min{renewed}" if left_min > 0 else f"ended{renewed}"
