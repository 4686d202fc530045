"""A healthy home, and the doctor's view of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.cli.configured import check_home
from hub.config.seed import seed
from hub.core.errors import Unavailable
from hub.doctor.check_context import CheckContext
from hub.sections import needed_domains
from hub.storage.homedir import Home

See = Callable[[], CheckContext]


def nobody(method: str) -> Mapping[str, Any]:
    raise Unavailable(f"nobody answers {method}")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home as `homarus init` makes it, on a port that is free."""
    home = Home(tmp_path / "home")
    home.create()
    home.path.chmod(0o700)
    seed(home.path, zone="Europe/Berlin")
    text = home.configuration.read_text(encoding="utf-8")
    home.configuration.write_text(text.replace("port: 18789", "port: 0"), encoding="utf-8")
    return home


@pytest.fixture
def see(home: Home) -> See:
    """Look at the home afresh."""
    return lambda: CheckContext(home, lambda: check_home(home.path), needed_domains, nobody)
