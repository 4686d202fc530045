"""Tests of many homes in workers."""
