"""The metrics of a worker: who owns what, how late its heartbeat is, and what waits."""

from __future__ import annotations

from hub.cluster.carrier import HOMES_LIMIT, Carrier
from hub.cluster.lease import WorkerLease
from hub.cluster.membership import Membership
from hub.gateway.http_api.exposition import Metric, encode


def metrics_text(membership: Membership, carrier: Carrier, lease: WorkerLease) -> str:
    """Return the metrics in the text format of Prometheus."""
    is_open = Metric(
        "homarus_worker_home_open", "gauge", "Homes of this worker: 1 for one that is open.", "home", limit=HOMES_LIMIT
    )
    runs = Metric("homarus_worker_home_runs", "gauge", "Runs under way or waiting, by home.", "home", limit=HOMES_LIMIT)
    for name, home in carrier.homes.items():
        is_open.set(float(home is not None), name)
        runs.set(float(home.runs if home is not None else 0), name)
    age = Metric("homarus_worker_heartbeat_age_seconds", "gauge", "Time since this worker's last heartbeat.")
    age.set(membership.late_s)
    held = Metric("homarus_worker_lease_held", "gauge", "1 while this worker may act outside.")
    held.set(float(lease.is_held))
    opened = Metric("homarus_worker_homes_opened_total", "counter", "Homes that this worker has opened.")
    opened.set(float(carrier.opened))
    closed = Metric("homarus_worker_homes_closed_total", "counter", "Homes that this worker has closed.")
    closed.set(float(carrier.closed))
    buried = Metric("homarus_worker_buried_total", "counter", "Workers that this one found dead.")
    buried.set(float(membership.buried))
    weight = Metric("homarus_workers_weight", "gauge", "What each worker carries.", "worker")
    others = Metric("homarus_workers_heartbeat_age_seconds", "gauge", "Since each worker's last heartbeat.", "worker")
    for each in membership.workers:
        weight.set(each.weight, each.name)
        others.set(max(0.0, each.behind_s), each.name)
    return encode((is_open, runs, age, held, opened, closed, buried, weight, others))
