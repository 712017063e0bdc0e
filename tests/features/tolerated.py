# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What taken_away.py does not expect, with the reasons."""

TEARDOWN = "a teardown whose command is refused ends with a reset"
POLLED = "most tests poll, or do not look at the event"
FEW = "tests of other features make it happen, and look at something else"
# Enumerators that many tests use and few look at. A feature that does not name one of them may pass
# or fail without it.
INCIDENTAL = {
    "unmap_fa": TEARDOWN,
    "unmap_icm_aux": TEARDOWN,
    "unmap_icm": TEARDOWN,
    "close_hca": TEARDOWN,
    "close_port": TEARDOWN,
    "hw2sw_eq": TEARDOWN,
    "hw2sw_cq": TEARDOWN,
    "hw2sw_mpt": TEARDOWN,
    "to_rst_qp": TEARDOWN,
    "mod_stat_cfg": "firmware that refuses it has pages of 4 KiB already",
    "completion": POLLED,
    "port_change": POLLED,
    "port_management_change": "bring-up reads a port that is not active until it is",
    "srq_limit": FEW,
    "srq_last_wqe": FEW,
    "wq_access_violation": FEW,
    "wq_invalid_request_error": FEW,
    "send": FEW,
}

RESET = "its test expects what the driver does after a refusal as well"
# (feature, enumerator): the feature names it, and its test passes without it.
TOLERATED = {
    ("firmware_area", "unmap_fa"): RESET,
    ("counting_queues", "completion"): "its test polls",
    ("port_attributes_change", "port_management_change"): "the driver reads the port in turn too",
}

ALTERED = "its test alters the bytes of another event: the model does not raise this one there"
# (feature, enumerator): the feature names it, and its test does not use it.
UNUSED = {
    ("access_violation", "wq_access_violation"): ALTERED,
    ("catastrophic_event", "local_catastrophic_error"): ALTERED,
    ("connection_established", "communication_established"): ALTERED,
    ("drained_event", "sq_drained"): ALTERED,
    ("path_migration_events", "path_migrated"): ALTERED,
    ("path_migration_events", "path_migration_failed"): ALTERED,
    ("queue_pair_errors", "wq_catastrophic_error"): ALTERED,
    ("queue_pair_errors", "wq_invalid_request_error"): ALTERED,
    ("shared_receive_error", "srq_catastrophic_error"): ALTERED,
    ("global_routes", "send"): "its test compares the context that is written, and sends nothing",
}
