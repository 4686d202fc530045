"""Tests of hub/hooks."""
