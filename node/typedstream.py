"""The text of a message in `attributedBody`: an NSAttributedString as NSArchiver writes it. Pure.

Format: https://github.com/dgelessus/python-typedstream
"""

from __future__ import annotations

_HEADER = b"\x04\x0bstreamtyped"
_NEW, _NIL = 0x84, 0x85
_SHORT, _LONG = 0x81, 0x82
_FIRST_REFERENCE = 0x92
_CLASSES_LIMIT = 16
"""A chain of parent classes is never so long."""
_STRINGS = frozenset({b"NSString", b"NSMutableString"})
_ATTRIBUTED = frozenset({b"NSAttributedString", b"NSMutableAttributedString"})


class _Broken(Exception):
    """It is not such a stream, or ends too early."""


def text_of(data: bytes) -> str | None:
    """Return the text of an archived attributed string, whose first part it is; None if there is none."""
    try:
        return _Reader(data).text()
    except _Broken:
        return None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._shared: list[bytes] = []

    def text(self) -> str:
        if self._take(len(_HEADER)) != _HEADER:
            raise _Broken
        self._number()  # the version of the system
        self._expect_object(_ATTRIBUTED)
        self._expect_object(_STRINGS)
        if self._shared_string() != b"+":
            raise _Broken
        return self._take(self._number()).decode("utf-8", "replace")

    def _expect_object(self, names: frozenset[bytes]) -> None:
        if self._shared_string() != b"@" or self._byte() != _NEW or self._class() not in names:
            raise _Broken

    def _class(self) -> bytes:
        """Read the class of an object, and its parents; return its name."""
        found: list[bytes] = []
        for _ in range(_CLASSES_LIMIT):
            label = self._byte()
            if label != _NEW:
                if found and (label == _NIL or label >= _FIRST_REFERENCE):
                    return found[0]
                break
            found.append(self._shared_string())
            self._number()  # its version
        raise _Broken

    def _shared_string(self) -> bytes:
        """Read a string that is written once, and then referred to."""
        label = self._byte()
        if label == _NEW:
            self._shared.append(self._take(self._number()))
            return self._shared[-1]
        if not 0 <= label - _FIRST_REFERENCE < len(self._shared):
            raise _Broken
        return self._shared[label - _FIRST_REFERENCE]

    def _number(self) -> int:
        head = self._byte()
        if head in (_SHORT, _LONG):
            return int.from_bytes(self._take(2 if head == _SHORT else 4), "little")
        if head > _SHORT:
            raise _Broken
        return head

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise _Broken
        self._at += count
        return taken
