"""The configuration files for commands: through the hub if one runs, else directly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.options import command_on
from hub.storage.instance_lock import read_running

if TYPE_CHECKING:
    from hub.config.checked import Checked
    from hub.config.errors import ConfigError
    from hub.config.paths import KeyPath

ROOT_FILE = "configuration.yaml"
_REFUSED = "CONFIG_INVALID"


class ConfigTexts:
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


def write_config(
    home: Path, file: str, text: str, base_hash: str | None, *, must_be_valid: bool = True
) -> Mapping[str, Any]:
    """Replace a file through the hub if one runs, else directly; return the result."""
    from hub.cli.configured import editor_of
    from hub.config.errors import ConfigInvalid

    if read_running(home) is not None:
        if must_be_valid:
            _refuse_new_errors(home, file, text)
        params = {"file": file, "raw": text, "baseHash": base_hash}
        saved: Mapping[str, Any] = HubClient(home).call("config.set", params)
        return saved
    from hub.config.history import COMMAND, changed_by

    try:
        with changed_by(COMMAND):
            return editor_of(home).write_file(file, text, base_hash, must_be_valid=must_be_valid).as_dict()
    except ConfigInvalid as refused:
        raise _invalid(home, file, text, refused.errors) from refused


def _refuse_new_errors(home: Path, file: str, text: str) -> None:
    from hub.cli.configured import check_home

    known = {(error.path, error.message) for error in check_home(home).errors}
    new = [error for error in check_home(home, {file: text}).errors if (error.path, error.message) not in known]
    if new:
        raise _invalid(home, file, text, new)


def _invalid(home: Path, file: str, text: str, errors: Iterable[ConfigError]) -> CommandFailed:
    from hub.config.cli.check import show_error

    told = [show_error(error, home, texts={file: text}) for error in errors]
    return CommandFailed(
        "\n".join(["Nothing was changed, because the configuration would not be valid:", *told]),
        Exit.INVALID_CONFIGURATION,
        {"code": _REFUSED, "errors": [error.as_dict() for error in errors]},
    )


def refuse_broken(checked: Checked, keys: KeyPath) -> None:
    """Refuse to show a section that is left out because it is invalid."""
    name = keys[0] if keys else None
    errors = checked.errors if is_unreadable(checked) else checked.config.broken.get(str(name), ())
    if errors:
        raise CommandFailed(
            "\n".join(str(error) for error in errors),
            Exit.INVALID_CONFIGURATION,
            {"code": _REFUSED, "errors": [error.as_dict() for error in errors]},
        )


def is_unreadable(checked: Checked) -> bool:
    """Whether the root file could not be read at all."""
    return checked.config.recovery and not checked.config.present


def tell_effect(home: Path, written: Mapping[str, Any]) -> None:
    """Print when a change takes effect, and the present errors of the configuration."""
    if read_running(home) is None:
        click.echo("No hub runs here; it takes effect when one starts.")
    for error in written.get("errors") or ():
        click.echo(f"Still wrong: {error['file']}:{error['line']}: {error['message']}", err=True)


def require_home(home: Path) -> None:
    """Refuse a directory that is not a home."""
    if not (home / ROOT_FILE).is_file():
        raise CommandFailed(
            f"There is no {ROOT_FILE} in {home}. Make a home with: {command_on(home, 'homarus init')}",
            Exit.INVALID_CONFIGURATION,
        )
