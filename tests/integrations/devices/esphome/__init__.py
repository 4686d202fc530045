"""Tests of ESPHome devices, with one that speaks the native API over real sockets."""
