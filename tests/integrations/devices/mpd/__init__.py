"""Tests of players with a real Music Player Daemon."""
