"""Assertions of stories are told in full."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.automation.conformance.story")
