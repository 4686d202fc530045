"""Whether the doctor says that no sandbox can be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hub.cli.configured import check_home
from hub.doctor.check_context import CheckContext
from hub.sandbox.doctor import SANDBOXES
from hub.sections import needed_domains
from hub.storage.homedir import Home
from hub.storage.instance_lock import InstanceLock


@pytest.mark.parametrize(("engine", "findings"), [(None, 1), ("bubblewrap", 0)])
def test_a_hub_that_can_make_no_sandbox_is_a_finding(home: Home, engine: str | None, findings: int) -> None:
    def ask(method: str) -> Mapping[str, Any]:
        return {"engine": engine, "engines": [{"name": "bubblewrap", "problem": "bwrap not installed here"}]}

    lock = InstanceLock(home.path)
    lock.acquire()
    found = list(SANDBOXES.look(CheckContext(home, lambda: check_home(home.path), needed_domains, ask)))
    lock.release()

    assert len(found) == findings
    assert all("bubblewrap: bwrap not installed here" in each.what for each in found)
