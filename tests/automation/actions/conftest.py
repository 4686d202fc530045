"""What the tests of actions stand on."""

from __future__ import annotations

import pytest

from tests.automation.actions.bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
