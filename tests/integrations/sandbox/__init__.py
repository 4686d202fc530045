"""Tests of the engines that make sandboxes."""
