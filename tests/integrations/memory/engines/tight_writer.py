"""Fills an engine on a disk that has little room; says what was put in, what happened then, and what is found after."""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from hub.memory.engine_contract import EngineUnavailable
from tests.integrations.memory.engines.kinds import Both

FIRST = 40
MORE = 3_000
TIMEOUT_S = 1.0


def main() -> None:
    directory = Path(sys.argv[2])
    both = Both(sys.argv[1], directory, TIMEOUT_S)
    both.put(range(FIRST))
    largest = max(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 4_096, hard))
    told: dict[str, Any] = {"happened": "nothing"}
    try:
        try:
            both.put(range(FIRST, FIRST + MORE))
        except OSError:
            told["happened"] = "OSError"
        told["found"] = both.find(5, limit=1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        both.put([FIRST + MORE])
        told["after"] = both.find(FIRST + MORE, limit=1)
        both.close()
    except EngineUnavailable:
        told["happened"] = "EngineUnavailable"
    sys.stdout.write(json.dumps(told))
    sys.stdout.flush()
    # What hangs would keep the process from ending by itself.
    os._exit(0)


if __name__ == "__main__":
    main()
