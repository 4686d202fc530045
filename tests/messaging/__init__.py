"""Tests of the way of a message."""
