"""The filter of system calls: a program for the kernel's classic BPF machine (linux/seccomp.h, linux/filter.h).

Calls that a sandbox never needs and that had holes in the kernel are refused: mounting, namespaces, keys, tracing
the kernel, loading into it, and putting input into a terminal. So is memory that counts for no process (memfd, shared
memory and messages of System V), and sockets that no namespace holds: AF_VSOCK reaches the host of a virtual machine.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_REFUSE, _ABSENT = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX."""
_X32 = 0x40000000
_SOCKETS = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK."""
_NEWER = (425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 447)
"""io_uring, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, memfd_secret: the same on all
machines."""
_CLONE3 = 435
_OLDER: Mapping[str, tuple[int, int, int, int, tuple[int, ...], tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E,
        56,
        16,
        41,
        (29, 68, 319),
        (
            *(103, 153, 155, 159, 161, 163, 164, 165, 166, 167, 168, 169, 172, 173, 175, 176, 179, 180, 212, 227),
            *(246, 248, 249, 250, 272, 298, 304, 308, 310, 311, 312, 313, 320, 321, 323),
        ),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        29,
        198,
        (194, 186, 279),
        (
            *(18, 39, 40, 41, 51, 60, 89, 97, 104, 105, 106, 112, 116, 142, 170, 171, 217, 218, 219, 224, 225),
            *(241, 265, 268, 270, 271, 272, 273, 280, 282, 294),
        ),
    ),
}
"""By machine: its mark, the numbers of clone, ioctl and socket; of shmget, msgget and memfd_create; and of syslog,
vhangup, pivot_root, adjtimex, chroot, acct, settimeofday, mount, umount2, swapon, swapoff, reboot, iopl, ioperm,
modules, quotactl, lookup_dcookie, clock_settime, kexec, keys, unshare, perf_event_open, open_by_handle_at, setns,
process_vm_*, kcmp, bpf, userfaultfd."""


def system_call_filter(machine: str | None = None) -> bytes | None:
    """Return the filter for a machine, this one by default; None where its numbers are not known."""
    known = _OLDER.get(machine or platform.machine())
    if known is None:
        return None
    architecture, clone, ioctl, socket, absent, refused = known
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1),
        _step(_RETURN, _REFUSE),
    ]
    for number in (_CLONE3, *absent):
        code += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ABSENT)]
    for number in (*refused, *_NEWER):
        code += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _REFUSE)]
    code += [_step(_EQUAL, clone, 0, 3), _step(_LOAD, _FIRST), _step(_ANY_BIT, _NAMESPACES, 0, 1)]
    code += [_step(_RETURN, _REFUSE), _step(_LOAD, _NUMBER), _step(_EQUAL, socket, 0, 2 + 2 * len(_SOCKETS))]
    code.append(_step(_LOAD, _FIRST))
    for family in _SOCKETS:
        code += [_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW)]
    code += [_step(_RETURN, _REFUSE), _step(_EQUAL, ioctl, 0, 1 + 2 * len(_TERMINAL_INPUT))]
    code.append(_step(_LOAD, _SECOND))
    for request in _TERMINAL_INPUT:
        code += [_step(_EQUAL, request, 0, 1), _step(_RETURN, _REFUSE)]
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
