"""Changes an engine until it is killed; says on standard output which change was done, as a number and a new line."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from tests.integrations.memory.engines.kinds import Both

STEP = 20


def main() -> None:
    both = Both(sys.argv[1], Path(sys.argv[2]))
    for number in itertools.count():
        both.put(ids_of(number), removed=[id_ - 5 * STEP for id_ in ids_of(number)])
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


def ids_of(number: int) -> range:
    return range(1 + number * STEP, 1 + (number + 1) * STEP)


if __name__ == "__main__":
    main()
