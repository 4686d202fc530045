"""Tests of the bridges to devices."""
