"""Tests of the integrations for the local network."""
