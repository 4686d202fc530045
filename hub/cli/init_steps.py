"""The next steps of `homarus init` in a home that exists: each asks what a command needs, and runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed

DONE = "Nothing more"
SIGN_INS: Mapping[str, tuple[str, ...]] = {
    "Sign in at OpenAI in the browser": ("login", "openai"),
    "A Claude subscription: the token that `claude setup-token` prints": ("setup-token", "anthropic"),
}
"""Ways to pay for a model without a key, with the words behind `homarus models auth`."""
_MOVES = ("home-assistant", "openclaw", "claude", "chatgpt")
_KEYS = ("anthropic", "openai", "gemini", "openrouter", "mistral", "deepseek")
Step = Callable[[Path], tuple[str, ...] | None]
"""Asks what a command needs, and returns its words; None when there is nothing to do."""


def ask_steps(home: Path) -> None:
    """Ask what to set up next, and do it, until nothing more is wanted.

    Raises:
        Abort: Ctrl+C was pressed.
    """
    from hub.cli.app import run

    while (chosen := _select("What should be set up?", [*_STEPS, DONE])) != DONE:
        try:
            words = _STEPS[chosen](home)
        except CommandFailed as failure:
            click.echo(failure.message, err=True)
            continue
        if words is not None:
            run([*words, "--config", str(home)])
        click.echo()


def _model(home: Path) -> tuple[str, ...]:
    ways: Mapping[str, tuple[str, ...]] = {
        **SIGN_INS,
        **{f"A key of {name}": ("add", name) for name in _KEYS},
    }
    return ("models", "auth", *ways[_select("How is the model paid for?", list(ways))])


def _channel(home: Path) -> tuple[str, ...]:
    kinds = HubClient(home).call("channels.kinds")["channels"]
    return ("channels", "add", _select("Which?", [each["channel"] for each in kinds]))


def _move(home: Path) -> tuple[str, ...]:
    import questionary

    which = _select("From what?", list(_MOVES))
    folder = _answer(questionary.path("Its folder, or its export?"))
    return ("migrate", which, str(Path(folder).expanduser()))


_STEPS: Mapping[str, Step] = {
    "A model: sign in, or give a key": _model,
    "A chat channel": _channel,
    "Another agent": lambda home: ("agents", "add"),
    "A phone or a computer": lambda home: ("devices", "pair"),
    "Move in from another program": _move,
}


def _select(question: str, choices: list[str]) -> str:
    import questionary

    return str(_answer(questionary.select(question, choices)))


def _answer(question: Any) -> Any:
    typed = question.ask()
    if typed is None:  # Ctrl+C
        raise click.exceptions.Abort
    return typed
