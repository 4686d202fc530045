"""The `homarus` command in this process: what it prints and its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from hub.cli.app import app, run


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


class Terminal:
    """Types commands."""

    def __init__(self, capture: pytest.CaptureFixture[str], home: Path) -> None:
        self._capture = capture
        self.home = home

    def __call__(self, *arguments: str) -> Ran:
        self._capture.readouterr()
        code = run(list(arguments))
        out, err = self._capture.readouterr()
        return Ran(int(code), out, err)


def every_command() -> Iterator[tuple[str, ...]]:
    """Every command that does something by itself, as it is typed."""
    yield from _below((), app)


def _below(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield path
        return
    if command.invoke_without_command:
        yield path
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _below((*path, name), inner)


def command_at(path: tuple[str, ...]) -> click.Command:
    """The command at a path."""
    found: click.Command = app
    for name in path:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), name)
        assert inner is not None
        found = inner
    return found
