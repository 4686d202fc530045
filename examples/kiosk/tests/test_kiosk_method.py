"""The method is called, and says what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.cli.client import CallFailed
from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_the_method_greets_and_needs_a_name() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}}) as hub:
        greeted = hub.call("kiosk.greet", {"name": "Ada"})
        with pytest.raises(CallFailed, match="name"):
            hub.call("kiosk.greet")

    assert greeted == {"text": "Hello, Ada!"}
