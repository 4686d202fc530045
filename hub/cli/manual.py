"""The manual of the command line as Markdown, generated from the commands."""

from __future__ import annotations

from collections.abc import Iterator

import click

from hub.cli.groups import split_help

COMMON = ("home", "as_json", "help", "version")


def manual(app: click.Group) -> str:
    """Return a section for each command, in the order in which help lists them. Pure: the same commands, the same text.

    Args:
        app: The top of the command line.
    """
    return "\n".join(_sections(app, "homarus"))


def _sections(group: click.Group, path: str) -> Iterator[str]:
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        yield _section(command, f"{path} {name}")
        if isinstance(command, click.Group):
            yield from _sections(command, f"{path} {name}")


def _section(command: click.Command, path: str) -> str:
    text, example = _help(command)
    level = "##" if path.count(" ") == 1 else "###"
    told = [f"{level} {path}", "", text, ""]
    if not isinstance(command, click.Group) or command.invoke_without_command:
        usage = " ".join(command.collect_usage_pieces(click.Context(command)))
        told += ["```", f"{path} {usage}".replace(" COMMAND [ARGS]...", "").rstrip(), "```", ""]
    rows = [row for each in command.params if isinstance(each, click.Option) for row in _option(each)]
    if rows:
        told += ["| option | |", "|---|---|", *rows, ""]
    if example:
        told += ["```sh", example, "```", ""]
    return "\n".join(told)


def _help(command: click.Command) -> tuple[str, str]:
    """Return a command's help, one paragraph a line, and its example."""
    told, example = split_help(command.help)
    return "\n\n".join(" ".join(part.split()) for part in told.split("\n\n")), example


def _option(option: click.Option) -> Iterator[str]:
    if option.name in COMMON:
        return
    names = ", ".join(f"`{name}`" for name in option.opts)
    if not option.is_flag:
        names += f" {option.make_metavar(click.Context(click.Command('x')))}"
    told = (option.help or "").replace("|", "\\|")
    if option.show_default and option.default is not None:
        told = (
            f"{told}  [default: {option.default:g}]"
            if isinstance(option.default, float)
            else (f"{told}  [default: {option.default}]")
        )
    required = " **Required.**" if option.required else ""
    yield f"| {names} | {' '.join(told.split())}{required} |"
