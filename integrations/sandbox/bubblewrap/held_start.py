"""A program that waits in its new namespaces until the hub has set them up; see bwrap(1)."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from io import FileIO

from msgspec import Struct

from hub.core.errors import Unavailable

INFO_LIMIT_BYTES = 65_536


class HeldStart(Struct, frozen=True):
    """The pipes by which bubblewrap reports the process it made, and learns when to continue.

    Attributes:
        told, begins: The hub's ends of the two pipes.
        tells, waits: bubblewrap's ends of the two pipes.
    """

    told: FileIO
    begins: FileIO
    tells: FileIO
    waits: FileIO

    @classmethod
    def pipes(cls, files: ExitStack) -> HeldStart:
        """Make them; `files` closes them."""
        (told, tells), (waits, begins) = os.pipe(), os.pipe()
        ends = [FileIO(told), FileIO(begins, "w"), FileIO(tells, "w"), FileIO(waits)]
        for each in ends:
            files.callback(each.close)
        return cls(*ends)

    @property
    def theirs(self) -> tuple[int, int]:
        """The descriptors that bubblewrap inherits."""
        return self.tells.fileno(), self.waits.fileno()

    @property
    def options(self) -> tuple[str, ...]:
        """The options of bubblewrap."""
        tells, waits = self.theirs
        return ("--info-fd", str(tells), "--block-fd", str(waits))

    def process(self) -> int:
        """Return the process that bubblewrap has made. Blocks.

        Raises:
            Unavailable: It has made none.
        """
        self.tells.close()
        said = b""
        while len(said) < INFO_LIMIT_BYTES and (chunk := self.told.read(4_096)):
            said += chunk
            if said.rstrip().endswith(b"}"):
                return int(json.loads(said)["child-pid"])
        raise Unavailable("bubblewrap made no sandbox")

    def begin(self) -> None:
        """Let the program begin."""
        self.begins.write(b".")
