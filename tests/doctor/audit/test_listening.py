"""Where a process listens, as the system lists it, and how it is reached."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hub.doctor.audit.listening import Listener, find_listeners

CHILD = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    sys.stdin.read()
"""
pytestmark = pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the system lists no sockets in /proc")


def test_all_sockets_that_listen_are_found_with_their_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("0.0.0.0", 0)) as wide:
        found = find_listeners(os.getpid(), ("127.0.0.1", one.getsockname()[1], True))
        ports = {each.port: each for each in found}

        own, other = ports[one.getsockname()[1]], ports[wide.getsockname()[1]]

    assert found[0] == own == Listener("127.0.0.1", own.port, is_gateway=True, tls=True)
    assert other == Listener("0.0.0.0", other.port)
    assert (own.local, other.local) == (True, False)


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_ipv6_is_read_in_the_order_of_the_machine() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        found = [each for each in find_listeners(os.getpid(), None) if each.port == port]

    assert [str(each) for each in found] == [f"[::1]:{port}"]


def test_what_a_child_listens_on_is_found_and_what_is_connected_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        port = int(child.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as connected:
            ports = [each.port for each in find_listeners(os.getpid(), None)]
            own_port = connected.getsockname()[1]
        child.communicate(b"")

    assert port in ports
    assert own_port not in ports


def test_where_the_system_says_nothing_the_gateway_alone_is_known(tmp_path: Path) -> None:
    assert find_listeners(os.getpid(), ("0.0.0.0", 18789, False), tmp_path) == (
        Listener("0.0.0.0", 18789, is_gateway=True),
    )


def test_what_listens_everywhere_is_reached_at_an_address_of_this_machine() -> None:
    reached = Listener("0.0.0.0", 80).reached_at

    with socket.socket() as probe:
        probe.bind((reached, 0))  # only an address of this machine can be bound
    assert Listener("192.168.1.5", 80).reached_at == "192.168.1.5"
