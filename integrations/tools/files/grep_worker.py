"""Runs one regular expression over texts that come through a pipe; started by `searching.py`, and killed when slow.

It imports nothing of ours, so that it starts at once and has nothing to lose.
"""

import json
import marshal
import re
import resource
import sys

MEMORY_LIMIT_BYTES = 1024 * 1024 * 1024
CPU_LIMIT_S = 12
LINE_SHOWN = 300


def main() -> None:
    """Read (pattern, ignore_case, limit, files) and write the matches as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    pattern, ignore_case, limit, files = marshal.load(sys.stdin.buffer)  # noqa: S302  from the hub itself
    try:
        wanted = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        sys.stdout.write(json.dumps({"error": str(error)[:200]}))
        return
    matches = []
    for path, text in files:
        for number, line in enumerate(text.split("\n"), start=1):
            if wanted.search(line):
                matches.append((path, number, line.rstrip("\r")[:LINE_SHOWN]))
                if len(matches) >= limit:
                    break
        if len(matches) >= limit:
            break
    sys.stdout.write(json.dumps({"matches": matches}))


if __name__ == "__main__":
    main()
