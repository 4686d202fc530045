"""Tests that every engine for words and for vectors has to pass, and tests of what only one of them has."""
