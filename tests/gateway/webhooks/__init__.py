"""Tests of webhooks: their table, and their addresses."""
