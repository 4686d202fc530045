"""`homarus config`: read and change the configuration, its schema and its history.

Reading looks at the files. Writing is left to the hub when one runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import command_on, home_option, json_option, print_json, print_table
from hub.core.secret import Secret
from hub.storage.instance_lock import read_running

if TYPE_CHECKING:
    from hub.config.checked import Checked
    from hub.config.errors import ConfigError
    from hub.config.history import ConfigVersion
    from hub.config.paths import KeyPath

ROOT_FILE = "configuration.yaml"
_REFUSED = "CONFIG_INVALID"


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
    from hub.cli.configured import checked_home
    from hub.config.paths import parse_path

    keys = parse_path(path)
    checked = checked_home(home)
    _refuse_broken(checked, keys)
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
    from hub.cli.configured import checked_home
    from hub.config.edit import parse_value, set_value
    from hub.config.locate import locate
    from hub.config.paths import format_path, parse_path

    keys = parse_path(path)
    if not keys:
        raise CommandFailed("PATH is empty; name a key such as hub.name", Exit.USAGE)
    _require_home(home)
    checked = checked_home(home)
    if _is_unreadable(checked):
        _refuse_broken(checked, keys)
    texts = _Texts(home)
    file, inner = locate(checked.config.raw, keys, texts.read)
    text = set_value(texts.read(file), inner, parse_value(value))
    written = _write(home, file, text, texts.hashes.get(file))
    if as_json:
        print_json({"path": format_path(keys), **written})
        return
    click.echo(f"{format_path(keys)} is set, in {file}.")
    _tell_effect(home, written)


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
    _require_home(home)
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
        written = _write(home, file, text, _Texts(home).hash_of(file), must_be_valid=False)
        if as_json:
            print_json({"restored": version.as_dict(), **written})
            return
        click.echo(f"{file} is as it was until {version.time[:19]}.")
        _tell_effect(home, written)
        return
    if as_json:
        print_json([version.as_dict() for version in versions])
        return
    if not versions:
        click.echo(f"No earlier version of {file} is kept; one is, whenever the hub or this command changes it.")
        return
    rows = [(str(number), each.time[:19], str(each.size_bytes), each.id) for number, each in enumerate(versions, 1)]
    print_table(rows, ("n", "until", "bytes", "id"))


class _Texts:
    """The present configuration files."""

    def __init__(self, home: Path) -> None:
        from hub.config.files import HomeFiles
        from hub.security.root import Root

        self._files = HomeFiles(Root(home))
        self.hashes: dict[str, str] = {}

    def read(self, name: str) -> str:
        """Return the text of a file; empty when there is none."""
        from hub.config.files import FileProblem, content_hash, decode

        try:
            data = self._files.read(name)
        except FileProblem as problem:
            if not problem.missing:
                raise
            return ""
        self.hashes[name] = content_hash(data)
        return decode(data, name)

    def hash_of(self, name: str) -> str | None:
        """Return the hash of a file; None when there is none."""
        self.read(name)
        return self.hashes.get(name)


def _write(home: Path, file: str, text: str, base_hash: str | None, *, must_be_valid: bool = True) -> Mapping[str, Any]:
    """Replace a file through the hub when one runs, else by itself; return what the hub or the editor says of it."""
    from hub.cli.configured import editor_of
    from hub.config.errors import ConfigInvalid

    if read_running(home) is not None:
        if must_be_valid:
            _refuse_new_errors(home, file, text)
        params = {"file": file, "raw": text, "baseHash": base_hash}
        saved: Mapping[str, Any] = HubClient(home).call("config.set", params)
        return saved
    try:
        return editor_of(home).write_file(file, text, base_hash, must_be_valid=must_be_valid).as_dict()
    except ConfigInvalid as refused:
        raise _invalid(home, file, text, refused.errors) from refused


def _refuse_new_errors(home: Path, file: str, text: str) -> None:
    from hub.cli.configured import checked_home

    known = {(error.path, error.message) for error in checked_home(home).errors}
    new = [error for error in checked_home(home, {file: text}).errors if (error.path, error.message) not in known]
    if new:
        raise _invalid(home, file, text, new)


def _invalid(home: Path, file: str, text: str, errors: Iterable[ConfigError]) -> CommandFailed:
    from hub.cli.check import show_error

    told = [show_error(error, home, texts={file: text}) for error in errors]
    return CommandFailed(
        "\n".join(["Nothing was changed, because the configuration would not be valid:", *told]),
        Exit.INVALID_CONFIGURATION,
        {"code": _REFUSED, "errors": [error.as_dict() for error in errors]},
    )


def _refuse_broken(checked: Checked, keys: KeyPath) -> None:
    """Refuse to show what is left out because it is not valid."""
    name = keys[0] if keys else None
    errors = checked.errors if _is_unreadable(checked) else checked.config.broken.get(str(name), ())
    if errors:
        raise CommandFailed(
            "\n".join(str(error) for error in errors),
            Exit.INVALID_CONFIGURATION,
            {"code": _REFUSED, "errors": [error.as_dict() for error in errors]},
        )


def _is_unreadable(checked: Checked) -> bool:
    """Whether the root file could not be read at all."""
    return checked.config.recovery and not checked.config.present


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


def _tell_effect(home: Path, written: Mapping[str, Any]) -> None:
    """Say when a change takes effect, and what is wrong with the configuration now."""
    if read_running(home) is None:
        click.echo("No hub runs here; it takes effect when one starts.")
    for error in written.get("errors") or ():
        click.echo(f"Still wrong: {error['file']}:{error['line']}: {error['message']}", err=True)


def _require_home(home: Path) -> None:
    if not (home / ROOT_FILE).is_file():
        raise CommandFailed(
            f"There is no {ROOT_FILE} in {home}. Make a home with: {command_on(home, 'homarus init')}",
            Exit.INVALID_CONFIGURATION,
        )


def _plain(value: Any) -> Any:
    """Return validated configuration as plain data; secrets as they are named, or not at all."""
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
    """Return a single value as YAML has it, but text without quotes."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if not isinstance(value, (dict, list)) else ("{}" if isinstance(value, dict) else "[]")
