"""Tests of hub/extensions."""
