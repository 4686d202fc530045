"""Run as a separate program: listens on the loopback of another process's network, and passes the socket on.

    python listen_inside.py PROCESS SOCKET PORT

It enters the user namespace that the network belongs to and then the network (setns(2), ioctl_ns(2)), which a program
with threads cannot; SOCKET is the number of an inherited socket through which the listening one is sent (unix(7)).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import sys
import time

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
OWNER_OF_NAMESPACE = 0xB701
TRIES, PAUSE_S = 500, 0.01
"""A network that has just been made has no loopback yet."""


def main(process: str, handing_over: int, port: int) -> None:
    """Run; on an error, the last output line says what went wrong."""
    network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    if os.fstat(network).st_ino == os.stat("/proc/self/ns/net").st_ino:
        raise OSError("the process has the network of the machine")
    owner = fcntl.ioctl(network, OWNER_OF_NAMESPACE)
    if os.fstat(owner).st_ino != os.stat("/proc/self/ns/user").st_ino:
        _enter(owner, NEW_USER)
    _enter(network, NEW_NETWORK)
    with socket.socket(fileno=handing_over) as hub, _listening(port) as found:
        socket.send_fds(hub, [b"."], [found.fileno()])


def _enter(namespace: int, kind: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, kind) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _listening(port: int) -> socket.socket:
    for _ in range(TRIES):
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            time.sleep(PAUSE_S)
    raise OSError("the network has no loopback")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
