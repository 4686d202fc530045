"""Groups of commands that say what was meant when a command does not exist."""

from __future__ import annotations

from difflib import get_close_matches

import click


class Group(click.Group):
    """A group that names the nearest command to one that does not exist."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            near = get_close_matches(args[0], known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"`{ctx.command_path} --help` lists the commands."
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)
