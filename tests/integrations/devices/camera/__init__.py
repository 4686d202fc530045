"""Tests of cameras, with a double that speaks HTTP as badly as cameras do, and with the real ffmpeg."""
