"""The commands of a platform: one module each for Linux, macOS and Termux, over their programs.

A `Backend` offers commands; those whose programs are missing are named by the doctor and not offered to the hub.
"""

from __future__ import annotations

import os
import sys

from .contract import Backend


def backend_here() -> Backend:
    """Return the backend of this machine."""
    if sys.platform == "darwin":
        from .macos import MacBackend

        return MacBackend()
    if "com.termux" in os.environ.get("PREFIX", ""):
        from .termux import TermuxBackend

        return TermuxBackend()
    from .linux import LinuxBackend

    return LinuxBackend()
