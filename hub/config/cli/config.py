"""`homarus config`: read and change the configuration, its schema and its history.

Reading looks at the files. Writing is left to the hub when one runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import home_option, json_option, print_json, print_table
from hub.config.cli.config_files import (
    ROOT_FILE,
    ConfigTexts,
    is_unreadable,
    refuse_broken,
    require_home,
    tell_effect,
    write_config,
)
from hub.core.secret import Secret

if TYPE_CHECKING:
    from hub.config.history import ConfigVersion
    from hub.config.paths import KeyPath


@click.group("config", cls=Group)
def command() -> None:
    """Read and change the configuration.

    Example:
      homarus config get http.port
      homarus config set hub.name "Our home"
    """


@command.command("get")
@click.argument("path", required=False, default="")
@home_option
@json_option
def get(path: str, home: Path, as_json: bool) -> None:
    """Print the value at PATH, or everything, with defaults. Secrets are shown by name.

    Example:
      homarus config get agents[0].model
    """
    from hub.cli.configured import check_home
    from hub.config.paths import parse_path

    keys = parse_path(path)
    checked = check_home(home)
    refuse_broken(checked, keys)
    value = _plain(_at(dict(checked.config.sections), keys))
    if as_json:
        print_json(value)
    elif isinstance(value, (dict, list)) and value:
        from hub.config.render import block

        click.echo("\n".join(block(value, 0)))
    else:
        click.echo(_word(value))


@command.command("set")
@click.argument("path")
@click.argument("value")
@home_option
@json_option
def set_(path: str, value: str, home: Path, as_json: bool) -> None:
    """Set the value at PATH to VALUE, written as in YAML; comments stay, and the old version is saved.

    A value with which the configuration would not be valid is refused (exit 3).

    Example:
      homarus config set models.default anthropic/claude-opus-4-6
      homarus config set models.providers.anthropic '{api_key: !secret anthropic_key}'
    """
    from hub.cli.configured import check_home
    from hub.config.edit import parse_value, set_value
    from hub.config.locate import locate
    from hub.config.paths import format_path, parse_path

    keys = parse_path(path)
    if not keys:
        raise CommandFailed("PATH is empty; name a key such as hub.name", Exit.USAGE)
    require_home(home)
    checked = check_home(home)
    if is_unreadable(checked):
        refuse_broken(checked, keys)
    texts = ConfigTexts(home)
    file, inner = locate(checked.config.raw, keys, texts.read)
    text = set_value(texts.read(file), inner, parse_value(value))
    written = write_config(home, file, text, texts.hashes.get(file))
    if as_json:
        print_json({"path": format_path(keys), **written})
        return
    click.echo(f"{format_path(keys)} is set, in {file}.")
    tell_effect(home, written)


@command.command("schema")
@home_option
@json_option
def schema(home: Path, as_json: bool) -> None:
    """Print JSON Schema of the whole configuration, integrations of your own included.

    Example:
      homarus config schema > homarus.schema.json
    """
    from hub.cli.configured import sections_of
    from hub.config.document import whole_schema

    print_json(whole_schema(sections_of(home)))


@command.command("reference")
@home_option
@json_option
def reference(home: Path, as_json: bool) -> None:
    """Print the reference of every section and key, as Markdown.

    Example:
      homarus config reference | less
    """
    from hub.cli.configured import sections_of
    from hub.config.reference import reference as written

    text = written(sections_of(home))
    if as_json:
        print_json({"markdown": text})
        return
    click.echo(text, nl=False)


@command.command("history")
@click.argument("file", required=False, default=ROOT_FILE)
@click.option("--diff", "diff", metavar="N", help="Show what changed since version N, a number of the list or an id.")
@click.option("--restore", "restore", metavar="N", help="Put version N back; what is there now is kept too.")
@home_option
@json_option
def history(file: str, diff: str | None, restore: str | None, home: Path, as_json: bool) -> None:
    """List earlier versions of FILE, the newest first; compare or restore one.

    Example:
      homarus config history
      homarus config history configuration.yaml --diff 1
      homarus config history configuration.yaml --restore 1
    """
    if diff is not None and restore is not None:
        raise CommandFailed("Give --diff or --restore, not both.", Exit.USAGE)
    require_home(home)
    from hub.cli.configured import editor_of

    editor = editor_of(home)
    versions = editor.history.versions(file)
    if diff is not None:
        version = _chosen(versions, diff, file)
        _tell_diff(version, editor.diff(file, version.id), as_json=as_json)
        return
    if restore is not None:
        version = _chosen(versions, restore, file)
        text = editor.history.read(file, version.id).decode("utf-8", "replace")
        written = write_config(home, file, text, ConfigTexts(home).hash_of(file), must_be_valid=False)
        if as_json:
            print_json({"restored": version.as_dict(), **written})
            return
        click.echo(f"{file} is as it was until {version.time[:19]}.")
        tell_effect(home, written)
        return
    if as_json:
        print_json([version.as_dict() for version in versions])
        return
    if not versions:
        click.echo(f"No earlier version of {file} is kept; one is, whenever the hub or this command changes it.")
        return
    rows = [
        (str(number), each.time[:19], each.by or "hub", str(each.size_bytes), each.id)
        for number, each in enumerate(versions, 1)
    ]
    print_table(rows, ("n", "until", "changed by", "bytes", "id"))


def _at(value: Any, keys: KeyPath) -> Any:
    from hub.config.paths import format_path
    from hub.config.suggest import did_you_mean

    for depth, key in enumerate(keys):
        in_mapping = isinstance(value, dict) and isinstance(key, str) and key in value
        in_list = isinstance(value, list) and isinstance(key, int) and key < len(value)
        if in_mapping or in_list:
            value = value[key]
        else:
            known = [each for each in value if isinstance(each, str)] if isinstance(value, dict) else []
            hint = did_you_mean(str(key), known, known="there are").capitalize()
            told = f"{format_path(keys[: depth + 1])} is not set and has no default."
            raise CommandFailed(f"{told} {hint}".rstrip(), Exit.FINDINGS, {"code": "NOT_FOUND"})
    return value


def _chosen(versions: list[ConfigVersion], wanted: str, file: str) -> ConfigVersion:
    """Return the version with this number or id."""
    for number, version in enumerate(versions, 1):
        if wanted in (str(number), version.id):
            return version
    there = f"there are {len(versions)}" if versions else "none is kept"
    raise CommandFailed(f"There is no version {wanted} of {file}; {there}.", Exit.FINDINGS, {"code": "NOT_FOUND"})


def _tell_diff(version: ConfigVersion, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"version": version.as_dict(), "diff": text})
        return
    click.echo(text or f"{version.file} is the same now.", nl=not text)


def _plain(value: Any) -> Any:
    """Return validated configuration as plain data; secrets by name, or not at all."""
    if isinstance(value, Secret):
        return value.source or "***"
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(each) for each in value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _word(value: Any) -> str:
    """Return a scalar as written in YAML, with text unquoted."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if not isinstance(value, (dict, list)) else ("{}" if isinstance(value, dict) else "[]")
