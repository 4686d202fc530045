"""Commands whose help keeps the lines of its example, and groups that say what was meant."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

import click

EXAMPLE = "Example:"
_AS_IT_STANDS = "\b"
"""Where click finds it, a paragraph is not wrapped."""


class CliCommand(click.Command):
    """A command with an example in its help."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _with_example(self.help)


class Group(click.Group):
    """A group that names the nearest command to one that does not exist."""

    command_class = CliCommand

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _with_example(self.help)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"`{ctx.command_path} --help` lists the commands."
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)


def split_help(text: str | None) -> tuple[str, str]:
    """Return what a command's help says, and the lines of its example."""
    told, _, example = inspect.cleandoc((text or "").replace(f"{_AS_IT_STANDS}\n", "")).partition(EXAMPLE)
    return told.strip(), inspect.cleandoc(example.strip("\n"))


def _with_example(text: str | None) -> str | None:
    return text and inspect.cleandoc(text).replace(f"\n{EXAMPLE}", f"\n{_AS_IT_STANDS}\n{EXAMPLE}", 1)
