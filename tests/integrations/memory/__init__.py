"""Tests of the memories."""
