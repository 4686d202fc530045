"""Fixtures of the tools' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.tools.standing import Standing


@pytest.fixture
def standing(tmp_path: Path) -> Standing:
    """The parts of a hub that tools need."""
    return Standing(tmp_path / "home")
