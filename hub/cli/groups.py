"""Commands whose help keeps the example's lines, and groups that suggest the intended command."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

import click

from hub.cli.openclaw_names import hint_of

EXAMPLE = "Example:"
_AS_IT_STANDS = "\b"
"""Where click finds it, a paragraph is not wrapped."""

BEHIND = ("--config", "--json")
"""Options of each command; groups have none."""


class CliCommand(click.Command):
    """A command with an example in its help."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.short_help = self.short_help or _first_sentence(self.help)
        self.help = _with_example(self.help)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _hinted(error, ctx) from error
        except click.UsageError as error:
            json = next((each for each in self.params if each.metavar == "JSON" and each.opts), None)
            if "unexpected extra argument" in error.message and json is not None:
                raise click.UsageError(f"{error.message}. Data goes into {json.opts[0]}, as JSON.", ctx) from error
            raise


class Group(click.Group):
    """A group that suggests the nearest command for an unknown one."""

    command_class = CliCommand

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.short_help = self.short_help or _first_sentence(self.help)
        self.help = _with_example(self.help)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name in BEHIND:
                written = f"{ctx.command_path} COMMAND {error.option_name}"
                raise click.UsageError(f"{error.option_name} belongs after the command: {written}", ctx) from error
            raise _hinted(error, ctx) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            if hint := hint_of([*ctx.command_path.split()[1:], *args]):
                raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx)
            near = [each for each in known if args[0].startswith(each)] or get_close_matches(args[0], known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"`{ctx.command_path} --help` lists the commands."
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)


def _hinted(error: click.NoSuchOption, ctx: click.Context) -> click.UsageError:
    """Return an error that says our option where OpenClaw's was typed."""
    hint = hint_of([*ctx.command_path.split()[1:], error.option_name])
    return click.UsageError(f"There is no option {error.option_name}. {hint}", ctx) if hint else error


def split_help(text: str | None) -> tuple[str, str]:
    """Return the help of a command, and the lines of its example."""
    told, _, example = inspect.cleandoc((text or "").replace(f"{_AS_IT_STANDS}\n", "")).partition(EXAMPLE)
    return told.strip(), inspect.cleandoc(example.strip("\n"))


def _first_sentence(text: str | None) -> str | None:
    """Return the first sentence of a command's help for lists; click's own would be cut after 45 characters."""
    sentence = " ".join(split_help(text)[0].partition("\n\n")[0].split()).partition(". ")[0].removesuffix(".")
    return f"{sentence}." if sentence else None


def _with_example(text: str | None) -> str | None:
    return text and inspect.cleandoc(text).replace(f"\n{EXAMPLE}", f"\n{_AS_IT_STANDS}\n{EXAMPLE}", 1)
