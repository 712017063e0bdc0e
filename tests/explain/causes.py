# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The causes of errors that the programs of this folder provoke, and what an explanation of each
has to say.

`shows` is the last line of the broken program, or several of which one is permitted. `words` are
regular expressions that the explanation has to contain, in any order and in either case. They
follow from the cause and from the verbs API. <NAME> stands for the number of the program's line
`fact NAME NUMBER`, hexadecimal or decimal. `functions` are the functions of the program in which
the objects of the cause were created, changed or released, and in which the request was posted or
the call made. SHOWN has the words for the last line itself, which each explanation needs as well.
"""
from typing import NamedTuple

INFINIBAND, ROCE = "infiniband", "roce"
NOTHING = "nothing came"


class Cause(NamedTuple):
    name: str
    shows: tuple
    functions: tuple
    words: tuple
    links: tuple


def status(number):
    return f"wc status {number}"


LENGTH, OPERATION, PROTECTION, FLUSHED, BIND, INVALID, ACCESS, RETRIES, NOT_READY = (
    status(n) for n in (1, 2, 4, 5, 6, 9, 10, 12, 13)
)
EBUSY, EFAULT, EINVAL, ENOMEM = "errno 16", "errno 14", "errno 22", "errno 12"
CQ_ERROR, ACCESS_EVENT, LIMIT_REACHED, LAST_REQUEST = (f"event {n}" for n in (0, 3, 15, 16))

SHOWN = {
    LENGTH: r"local length error|LOC_LEN_ERR",
    OPERATION: r"local (QP|queue pair) operation error|LOC_QP_OP_ERR",
    PROTECTION: r"local protection error|LOC_PROT_ERR",
    FLUSHED: r"flush",
    BIND: r"(window|MW).bind.*error|MW_BIND_ERR|memory management operation error",
    INVALID: r"remote invalid request error|REM_INV_REQ_ERR",
    ACCESS: r"remote access error|REM_ACCESS_ERR",
    RETRIES: r"retry (counter|count)? ?exceeded|RETRY_EXC_ERR",
    NOT_READY: r"RNR.*exceeded|RNR_RETRY_EXC_ERR",
    EBUSY: r"EBUSY|busy",
    EFAULT: r"EFAULT|bad address",
    EINVAL: r"EINVAL|invalid argument",
    ENOMEM: r"ENOMEM|cannot allocate memory",
    CQ_ERROR: r"IBV_EVENT_CQ_ERR|CQ error",
    ACCESS_EVENT: r"IBV_EVENT_QP_ACCESS_ERR|access (error|violation)",
    LIMIT_REACHED: r"IBV_EVENT_SRQ_LIMIT_REACHED|SRQ limit|limit (was |is )?reached",
    LAST_REQUEST: r"IBV_EVENT_QP_LAST_WQE_REACHED|last W(QE|R) reached",
    NOTHING: r"dropped|discarded|not delivered|no port",
}


def near(kind, fact):
    """The kind of an object, and its number at most three words later."""
    return rf"\b(?:{kind})\b\W+(?:\w+\W+){{0,3}}?<{fact}>"


RKEY, LKEY = near("rkey|R_Key|key", "rkey"), near("lkey|L_Key|key", "lkey")
REQUESTER, RESPONDER = near("QP|queue pair", "requester"), near("QP|queue pair", "responder")
REGION = r"\b(memory )?region\b|\bMR\b"
DOMAIN = r"protection domain|\bPD\b"
BEYOND = r"beyond|behind the end|past the end|outside|exceeds|longer than"
NO_REGION = r"no (memory )?(region|MR)\b|never (existed|registered)|unknown|does not exist"
DEREGISTERED = r"deregistered|ibv_dereg_mr"
SETUP, WRITE, READ = "setup_buffers", "write_block", "read_block"

CAUSES = []


def cause(name, shows, functions, *words, links=(INFINIBAND, ROCE)):
    shows = (shows,) if isinstance(shows, str) else shows
    CAUSES.append(Cause(name, shows, tuple(functions.split()), words, links))


# Keys, rights and bounds of remote regions.
cause("rkey_never_existed", ACCESS, "write_block", RKEY, NO_REGION, REQUESTER)
cause(
    "rkey_deregistered",
    ACCESS,
    "setup_buffers release_target write_block",
    RKEY,
    REGION,
    DEREGISTERED,
)
cause("rkey_of_other_domain", ACCESS, "setup_buffers write_block", RKEY, REGION, DOMAIN, RESPONDER)
cause(
    "region_without_remote_write",
    ACCESS,
    "setup_buffers write_block",
    RKEY,
    REGION,
    r"remote.write",
    r"local.write",
)
cause(
    "region_without_remote_read",
    ACCESS,
    "setup_buffers read_block",
    RKEY,
    REGION,
    r"remote.read",
    r"remote.write",
)
cause(
    "region_without_remote_atomic",
    ACCESS,
    "setup_counter add_to_counter",
    RKEY,
    REGION,
    r"remote.atomic",
    r"remote.write",
)
cause("write_beyond_region", ACCESS, "setup_buffers write_block", RKEY, REGION, BEYOND, "<length>")
cause("read_beyond_region", ACCESS, "setup_buffers read_block", RKEY, REGION, BEYOND, "<length>")
cause(
    "atomic_unaligned",
    INVALID,
    "add_to_counter",
    r"atomic|fetch.and.add",
    "<address>",
    r"align|multiple of 8",
)
# Keys, rights and bounds of local regions.
cause("lkey_never_existed", PROTECTION, "write_block", LKEY, NO_REGION, REQUESTER)
cause(
    "lkey_deregistered",
    PROTECTION,
    "setup_buffers release_source write_block",
    LKEY,
    REGION,
    DEREGISTERED,
)
cause(
    "lkey_of_other_domain", PROTECTION, "setup_buffers write_block", LKEY, REGION, DOMAIN, REQUESTER
)
cause(
    "local_buffer_beyond_region",
    PROTECTION,
    "setup_buffers write_block",
    LKEY,
    REGION,
    BEYOND,
    "<length>",
)
cause(
    "memory_outside_regions",
    PROTECTION,
    "setup_buffers write_block",
    LKEY,
    REGION,
    r"outside|beyond|not (in|within|part of)|before",
    "<address>",
)
cause(
    "read_target_without_local_write",
    PROTECTION,
    "setup_buffers read_block",
    LKEY,
    REGION,
    r"local.write",
)
cause(
    "receive_buffer_without_local_write",
    PROTECTION,
    "setup_buffers post_receive",
    LKEY,
    REGION,
    r"local.write",
    RESPONDER,
)
# Receives.
cause("receive_too_short", LENGTH, "post_receive", RESPONDER, r"receive", "<room>", r"\b256\b")
cause(
    "sender_of_too_long_message",
    INVALID,
    "post_receive send_block",
    REQUESTER,
    r"receive",
    "<bytes>",
    r"\b512\b",
)
cause("no_receive_posted", NOT_READY, "send_block", RESPONDER, r"no (posted )?receive")
cause(
    "no_receive_in_shared_queue",
    NOT_READY,
    "create_shared_queue send_block",
    RESPONDER,
    r"shared receive queue|SRQ",
    r"empty|no (posted )?receive",
)
cause(
    "shared_queue_runs_low",
    LIMIT_REACHED,
    "create_shared_queue arm_limit",
    r"shared receive queue|SRQ",
    r"limit\W+(\w+\W+){0,2}2\b",
    r"\b1 (receive|request|entr)|(receive|request|entr|left)\w*\W+(\w+\W+){0,2}1\b",
)
cause(
    "last_request_of_failed_pair",
    LAST_REQUEST,
    "create_responder write_block setup_buffers",
    RESPONDER,
    RKEY,
    r"remote.write",
    r"error",
)
cause(
    "responder_gets_access_event",
    ACCESS_EVENT,
    "setup_buffers write_block",
    RESPONDER,
    RKEY,
    r"remote.write",
)
cause(
    "completion_queue_too_small",
    CQ_ERROR,
    "create_small_queue",
    r"\bCQ\b|completion queue",
    r"full|overrun|overflow|no room",
    r"<entries>",
)
# Connections.
cause(
    "wrong_peer_number",
    RETRIES,
    "connect_pair write_block",
    REQUESTER,
    near("QP|queue pair", "peer"),
    r"no (such )?(QP|queue pair)|does not exist|not exist|never created",
)
cause(
    "wrong_first_psn",
    RETRIES,
    "connect_pair write_block",
    RESPONDER,
    r"\bPSN\b",
    "<found>",
    "<wanted>",
)
cause(
    "wrong_address",
    RETRIES,
    "connect_pair write_block",
    REQUESTER,
    r"\b(LID|GID|MAC|address)\b",
    r"no port|nobody|not (reached|reachable|found)|unreachable|does not exist",
)
cause("peer_in_reset", RETRIES, "write_block", REQUESTER, RESPONDER, r"\bRESET\b", r"RTR")
cause("peer_in_init", RETRIES, "connect_pair write_block", RESPONDER, r"\bINIT\b", r"RTR")
cause("peer_in_error", RETRIES, "stop_peer write_block", RESPONDER, r"\bERR(OR)?\b|error state")
cause("post_in_init", EINVAL, "post_write", REQUESTER, r"\bINIT\b", r"\bRTS\b")
cause("post_in_rtr", EINVAL, "post_write", REQUESTER, r"\bRTR\b", r"\bRTS\b")
cause(
    "post_in_error",
    FLUSHED,
    "stop_requester write_block",
    REQUESTER,
    r"\bERR(OR)?\b|error state",
    r"ibv_modify_qp|the program (itself )?moved|moved by the program",
)
cause(
    "flushed_after_failure",
    FLUSHED,
    "write_block",
    REQUESTER,
    r"earlier|before|previous|first|because|after",
    r"remote access error|REM_ACCESS_ERR",
)
# Calls that the verbs API refuses.
cause(
    "send_queue_full",
    ENOMEM,
    "write_block write_many",
    REQUESTER,
    r"send queue|max_send_wr",
    r"full|no room",
    r"poll|completion",
)
cause(
    "receive_queue_full",
    ENOMEM,
    "post_receive post_receives",
    RESPONDER,
    r"receive queue|max_recv_wr",
    r"full|no room",
)
cause(
    "too_many_entries", ENOMEM, "write_pieces", REQUESTER, r"entries|SGE|max_send_sge", r"<entries>"
)
cause("too_much_inline", ENOMEM, "write_inline", REQUESTER, r"inline", r"<bytes>")
cause("transition_without_steps", EINVAL, "connect_at_once", REQUESTER, r"\bRESET\b", r"\bRTS\b")
cause(
    "transition_without_attribute",
    EINVAL,
    "move_to_rtr",
    RESPONDER,
    r"MIN_RNR_TIMER",
    r"missing|lacks|without|needs|required|wanted",
)
cause(
    "pkey_index_beyond_table",
    EINVAL,
    "move_to_init",
    REQUESTER,
    near("P_?Key index", "index"),
    r"table|at most|largest|less than|entries",
)
# A P_Key table of RoCE has one entry.
cause(
    "pkey_of_other_partition",
    RETRIES,
    "connect_pair write_block",
    r"P_?Key",
    RESPONDER,
    r"0x0000\b|\b0x0\b|\bP_?Key\W+(\w+\W+){0,2}?0\b|index\W+(\w+\W+){0,2}?<index>",
    r"0xffff",
    links=(INFINIBAND,),
)
cause(
    "group_of_unicast_address",
    EINVAL,
    "join_group",
    RESPONDER,
    r"multicast",
    r"\bfe12\b|fe12:|\bfe:12|0xfe",
)
cause(
    "more_requests_than_device",
    EINVAL,
    "create_requester",
    r"\bQP\b|queue pair",
    r"max_send_wr|requests",
    "<found>",
    "<wanted>",
)
cause(
    "more_entries_than_device",
    EINVAL,
    "create_requester",
    r"\bQP\b|queue pair",
    r"max_send_sge|entries|SGE",
    "<found>",
    "<wanted>",
)
cause(
    "completion_queue_in_use",
    EBUSY,
    "destroy_queue",
    r"\bCQ\b|completion queue",
    REQUESTER,
    r"\bus(e|es|ed|ing)\b",
)
cause("domain_in_use", EBUSY, "release_domain setup_buffers", DOMAIN, REGION, LKEY)
cause(
    "registration_of_unmapped_memory",
    EFAULT,
    "register_pages",
    REGION,
    "<address>",
    r"not mapped|unmapped|no memory",
)
cause(
    "registration_of_read_only_memory",
    EFAULT,
    "register_pages",
    REGION,
    "<address>",
    r"local.write|writ",
    r"read.only|may not (be )?writ|not writable|no right to write",
)
cause(
    "remote_write_without_local_write",
    EINVAL,
    "register_target",
    REGION,
    r"remote.write",
    r"local.write",
)
# What the responder's queue pair does not permit.
cause(
    "responder_takes_no_reads",
    INVALID,
    "connect_pair read_block",
    RESPONDER,
    r"max_dest_rd_atomic|RDMA reads? (resources|and atomics)|reads",
    r"\b0\b|\bno\b|\bnone\b",
)
cause(
    "pair_without_remote_write",
    INVALID,
    "connect_pair write_block",
    RESPONDER,
    r"remote.write",
    r"qp_access_flags|access flags|rights of the (QP|queue pair)|permit|allow",
    r"remote.read",
)
cause(
    "pair_without_remote_read",
    INVALID,
    "connect_pair read_block",
    RESPONDER,
    r"remote.read",
    r"qp_access_flags|access flags|rights of the (QP|queue pair)|permit|allow",
    r"remote.write",
)
cause(
    "mtu_mismatch",
    INVALID,
    "connect_pair write_block",
    RESPONDER,
    r"\bMTU\b",
    r"\b1024\b",
    r"\b256\b",
)
# Datagrams and other services.
cause(
    "datagram_with_wrong_qkey",
    NOTHING,
    "send_datagram",
    RESPONDER,
    r"Q_?Key",
    "<found>",
    "<wanted>",
)
cause(
    "datagram_to_wrong_address",
    NOTHING,
    "create_address send_datagram",
    REQUESTER,
    r"\b(LID|GID|MAC|address)\b",
    r"no port|nobody|not (reached|reachable|found)|unreachable|does not exist",
)
cause(
    "datagram_longer_than_mtu",
    (EINVAL, LENGTH),
    "send_datagram",
    REQUESTER,
    r"\bMTU\b",
    "<bytes>",
    r"\b(1024|2048|4096)\b",
)
cause(
    "datagram_without_room_for_header",
    LENGTH,
    "post_receive",
    RESPONDER,
    r"\bGRH\b",
    r"\b40\b",
    "<room>",
)
cause(
    "write_by_datagram",
    (EINVAL, OPERATION),
    "post_write",
    REQUESTER,
    r"RDMA.write",
    r"\bUD\b|datagram",
)
cause(
    "read_on_unreliable_connection",
    (EINVAL, OPERATION),
    "read_block",
    REQUESTER,
    r"RDMA.read",
    r"\bUC\b|unreliable",
)
# Memory windows.
cause(
    "window_on_region_without_mw_bind",
    BIND,
    "setup_buffers bind_window",
    LKEY,
    REGION,
    r"window|\bMW\b",
    r"MW_BIND\b|permit.*(window|bind)|bind.*permi",
)
cause(
    "window_invalidated_before_use",
    ACCESS,
    "bind_window invalidate_window write_block",
    RKEY,
    r"window|\bMW\b",
    r"invalidated",
)
cause(
    "send_with_invalid_key",
    INVALID,
    "post_receive send_and_invalidate",
    RESPONDER,
    near("rkey|R_Key|key", "key"),
    r"invalidat",
    r"no (memory )?(window|key|region)|unknown|does not exist|never",
)
