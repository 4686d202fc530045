"""`homarus init`: make a home directory with a starter configuration; what exists is never overwritten."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import command_on, home_option, json_option, print_json

if TYPE_CHECKING:
    from hub.models.adding import NewProvider

LANGUAGES = ("en", "zh-CN")
_LATER = "Not now: it answers offline what it can, or with a local Ollama"
_SERVER = "An OpenAI-compatible server of my own"
Validator = Callable[[str], bool | str]
_USUAL = ("anthropic", "openai", "gemini", "openrouter", "mistral", "deepseek")


class Choices(Struct, frozen=True):
    """The choices for a new home.

    Attributes:
        name: The name of the home.
        time_zone: IANA name.
        language: Such as en.
        provider: A model provider with its key.
        sign_in: The words behind `homarus models auth` instead.
    """

    name: str
    time_zone: str
    language: str
    provider: NewProvider | None = None
    sign_in: tuple[str, ...] = ()


@click.command("init", cls=CliCommand)
@click.option("--name", help="Name of the home.  [default: Home]")
@click.option("--time-zone", metavar="ZONE", help="IANA time zone.  [default: this machine's]")
@click.option("--language", help="Such as en or zh-CN.  [default: en]")
@click.option("--yes", is_flag=True, help="Do not ask; use the defaults for what is not given.")
@home_option
@json_option
def command(
    name: str | None, time_zone: str | None, language: str | None, yes: bool, home: Path, as_json: bool
) -> None:
    """Create a home directory with a starter configuration and, if you like, a model key or a sign-in.

    In a home that exists it asks what to set up next: a model, a chat channel, an agent, a phone, or a move from
    another program. What needs the hub says how to start it.

    Example:
      homarus init
      homarus init --yes --config /srv/home --name "Our home" --time-zone Europe/Berlin
    """
    from hub.config.files import ROOT_FILE
    from hub.config.seed import local_time_zone

    asks = not yes and not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    if (home / ROOT_FILE).exists():
        if not asks:
            _tell(home, [], as_json=as_json)
            return
        from hub.cli.init_steps import ask_steps

        ask_steps(home)
        return
    defaults = Choices(name or "Home", time_zone or local_time_zone(), language or "en")
    _check(defaults)
    chosen = _ask(defaults, given={"name": name, "time_zone": time_zone, "language": language}) if asks else defaults
    written = make_home(home, chosen)
    if chosen.sign_in:
        from hub.cli.app import run

        run(["models", "auth", *chosen.sign_in, "--config", str(home)])
    _tell(home, written, as_json=as_json)


def make_home(home: Path, chosen: Choices) -> list[str]:
    """Make a home directory; return the names of the files that were written."""
    from hub.cli.configured import editor_of
    from hub.config.seed import seed
    from hub.models.adding import write_provider
    from hub.storage.homedir import Home, restrict_umask

    restrict_umask()
    Home(home).create()
    written = seed(home, zone=chosen.time_zone)
    editor = editor_of(home)
    for key, value in (("name", chosen.name), ("time_zone", chosen.time_zone), ("language", chosen.language)):
        editor.set_value(("hub", key), value)
    if chosen.provider is not None:
        write_provider(editor, chosen.provider)
    return written


def _check(choices: Choices) -> None:
    from hub.config.hub_section import HUB_SCHEMA
    from hub.core.schema import SchemaError, each_error

    try:
        HUB_SCHEMA({"name": choices.name, "time_zone": choices.time_zone, "language": choices.language})
    except SchemaError as error:
        told = "; ".join(f"--{str(each.path[0]).replace('_', '-')}: {each.msg}" for each in each_error(error))
        raise CommandFailed(told, Exit.USAGE) from error


def _ask(defaults: Choices, given: dict[str, str | None]) -> Choices:
    """Ask on the terminal for what the command line did not give."""
    import questionary

    from hub.cli.init_steps import SIGN_INS
    from hub.models.adding import OWN_SERVER, NewProvider

    def answer(question: Any) -> Any:
        typed = question.ask()
        if typed is None:  # Ctrl+C
            raise click.exceptions.Abort
        return typed

    def text(question: str, default: str, valid: Validator) -> str:
        """Ask for a text; an empty input means the default, which is shown but not prefilled."""
        typed = questionary.text(f"{question} [{default}]", validate=lambda typed: not typed or valid(typed))
        return answer(typed) or default

    name = given["name"] or text("What is the name of this home?", defaults.name, _valid("name"))
    zone = given["time_zone"] or text("Its time zone?", defaults.time_zone, _valid("time_zone"))
    language = given["language"] or answer(
        questionary.select("The language of the assistant and the dashboard?", list(LANGUAGES), default="en")
    )
    who = answer(questionary.select("Which model answers?", [_LATER, *SIGN_INS, *_USUAL, _SERVER]))
    if who == _LATER:
        return Choices(name, zone, language)
    if who in SIGN_INS:
        return Choices(name, zone, language, sign_in=SIGN_INS[who])
    if who == _SERVER:
        url = text("Its address?", "http://127.0.0.1:8000/v1", _is_url)
        model = answer(questionary.text("The id of a model it serves?", validate=bool))
        key = answer(questionary.password("Its key (empty when it needs none)?"))
        return Choices(name, zone, language, NewProvider(OWN_SERVER, url, key, model))
    key = answer(questionary.password(f"The key of {who}? It is kept in secrets.yaml."))
    return Choices(name, zone, language, NewProvider(who, key=key) if key else None)


def _valid(field: str) -> Validator:
    from hub.config.hub_section import HUB_SCHEMA
    from hub.core.schema import SchemaError, each_error

    def check(value: str) -> bool | str:
        try:
            HUB_SCHEMA({field: value})
        except SchemaError as error:
            return next(str(each.msg) for each in each_error(error))
        return True

    return check


def _is_url(value: str) -> bool | str:
    from hub.core.schema import SchemaError, url

    try:
        url(value)
    except SchemaError as error:
        return str(error.msg)
    return True


def _tell(home: Path, written: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"home": str(home), "written": written})
        return
    if written:
        click.echo(f"Created the home {home} with {', '.join(written)}.")
    else:
        click.echo(f"{home} has a configuration already; nothing was changed.")
    click.echo(f"Start it with: {command_on(home, 'homarus start')}")
    click.echo(f"Then add a channel, an agent, a phone or another model: {command_on(home, 'homarus init')}")
