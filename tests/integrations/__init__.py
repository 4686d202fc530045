"""Tests of the integrations, in the order of their folders."""
