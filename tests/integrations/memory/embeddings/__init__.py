"""Tests of who makes vectors, against a real server and the real local model."""
