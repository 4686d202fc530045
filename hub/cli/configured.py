"""The configuration of a home directory as a command needs it: checked, without a hub and without the network stack."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from hub.config.check import check
from hub.config.checked import Checked, empty_config
from hub.config.errors import ConfigError
from hub.config.files import ROOT_FILE
from hub.config.files_editor import FilesEditor
from hub.config.sections import Sections
from hub.integration.catalog import find
from hub.integration.schemas import schemas
from hub.sections import all_sections
from hub.security.root import Root


def sections_of(home: Path) -> Sections:
    """Return all sections of a home's configuration, with those of its own integrations."""
    return all_sections(schemas(find(home)))


def check_home(home: Path, overrides: Mapping[str, str] | None = None) -> Checked:
    """Check the configuration of a home directory; what is wrong, down to a missing directory, is in the result.

    Args:
        home: The directory.
        overrides: Texts that replace files, by name; nothing is written.
    """
    if not home.is_dir():
        what = "is not a directory" if home.exists() else "does not exist"
        told = ConfigError(ROOT_FILE, 1, 1, "", f"the directory {home} {what}", "`homarus init` makes a home")
        return Checked(empty_config(), [told], [])
    return check(home, sections_of(home), overrides=overrides)


def editor_of(home: Path) -> FilesEditor:
    """Return the editor of the configuration files of a home, for reading or while no hub runs."""
    return FilesEditor(Root(home), lambda texts: check_home(home, texts), lambda: check_home(home).config, time.time)
