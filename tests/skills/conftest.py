"""Fixtures of the tests of skills."""

from __future__ import annotations

from tests.agent.conftest import house

__all__ = ["house"]
