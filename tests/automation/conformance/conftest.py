"""Failed assertions of stories are shown in full."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.automation.conformance.story")
