"""Bounds on what is read: size, depth, number of values and files, so that no file can exhaust the hub."""

from __future__ import annotations

FILE_SIZE_LIMIT_BYTES = 8 * 1024 * 1024
TOTAL_SIZE_LIMIT_BYTES = 32 * 1024 * 1024
FILE_COUNT_LIMIT = 2_000
INCLUDE_DEPTH_LIMIT = 16
DEPTH_LIMIT = 64
"""Mappings and lists inside each other, within one file."""
VALUE_LIMIT = 1_000_000
"""Values in all files together, counted after aliases and merge keys are expanded."""
ALIAS_LIMIT = 10_000
ANCHOR_LIMIT = 1_000
"""Anchors in one file."""
KEY_LENGTH_LIMIT = 512
INTEGER_LIMIT = 2**63


class Budget:
    """The remaining limits shared by all files of one reading."""

    __slots__ = ("aliases", "bytes", "files", "values")

    def __init__(self) -> None:
        self.values = VALUE_LIMIT
        self.aliases = ALIAS_LIMIT
        self.bytes = TOTAL_SIZE_LIMIT_BYTES
        self.files = FILE_COUNT_LIMIT
