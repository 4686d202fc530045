"""Tests of the browser, with a real Chromium: one for all of them."""
