"""A process that takes the lock of a home, says so, and holds it until its input ends."""

from __future__ import annotations

import sys
from pathlib import Path

from hub.storage.instance_lock import AlreadyRunning, InstanceLock

lock = InstanceLock(Path(sys.argv[1]))
try:
    lock.acquire()
    if len(sys.argv) > 2:
        lock.update("127.0.0.1", int(sys.argv[2]))
    print("held", flush=True)
except AlreadyRunning as error:
    print(error.message, flush=True)
sys.stdin.read()
