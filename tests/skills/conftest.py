"""Fixtures of the tests of skills."""

from __future__ import annotations

from tests.agent.conftest import form, house

__all__ = ["form", "house"]
