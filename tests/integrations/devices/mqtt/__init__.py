"""Tests of the MQTT bridge, with a real mosquitto and the embedded broker."""
