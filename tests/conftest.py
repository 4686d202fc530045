"""Fixtures that the whole suite shares."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.lengths import EXAMPLES
from tests.servers.openai_server import OpenAIServer

HERE = Path(__file__).parent

# What collecting makes stays: looking through it again and again took a third of that time, and a tenth of the rest.
gc.disable()

# How long an example takes says more of the machine than of the program. CI judges a change, so it looks at the same
# examples each time; everybody else looks for new ones.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=EXAMPLES)
settings.register_profile("ci", settings.get_profile("untimed"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "untimed")

LONG = ("faults", "web", "e2e", "security_review")
"""Folders whose tests start whole hubs and browsers."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take long first: at the end, no worker then waits for what another has just begun."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, item.path.relative_to(HERE).parts[0] not in LONG))


def pytest_collection_finish() -> None:
    """Let the collector work again, without what has been collected."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(autouse=True, scope="module")
def _what_earlier_tests_left_is_not_searched() -> None:
    """Keep the collector off what libraries and earlier tests left: looked through again and again, it cost minutes."""
    gc.freeze()


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server of this test's own (see `tests/servers/openai_script.py`)."""
    with OpenAIServer() as server:
        yield server
