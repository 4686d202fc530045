"""What `test_forked.py` runs in processes of their own: `python -m tests.servers.forked_program COMMAND`."""

from __future__ import annotations

import atexit
import os
import random
import sys
import threading
import time
from pathlib import Path


def main() -> None:
    """Do what the first argument says."""
    match sys.argv[1:]:
        case ["tell", *arguments]:
            print("arguments", arguments)
            print("environment", dict(os.environ))
            print("directory", os.getcwd())
            print("zone", time.tzname[0])
        case ["exit", code]:
            sys.stderr.write(f"exits with {code}\n")
            sys.exit(int(code))
        case ["end"]:
            atexit.register(print, "at the end")
            threading.Timer(0.05, print, ["from a thread"]).start()
            sys.exit("with these words")
        case ["raise"]:
            raise ZeroDivisionError
        case ["echo"]:
            _echo()
        case ["random"]:
            print(random.random())
        case ["files"]:
            print(sorted(os.listdir("/proc/self/fd")))
        case ["parent", file]:
            Path(file).write_text(str(os.getppid()))


def _echo() -> None:
    try:
        for line in sys.stdin:
            print(line, end="", flush=True)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
