# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The rows of requests and objects besides writes and receives of RC, and the bound of each: the
ratio of our driver's instructions to libmlx4's, at most. Rows of DATA are posts and polls. Rows of
CONTROL contain calls into the kernel or commands."""

DATA, CONTROL = 0.6, 1.0

VERBS = {
    **{
        f"{verb} of {what}": DATA
        for verb, objects in (
            (
                "post",
                (
                    "an RDMA read",
                    "a compare-and-swap",
                    "a fetch-and-add",
                    "a send with immediate data",
                    "a send with invalidate",
                    "a local invalidate",
                    "a bind of a type 1 window",
                    "a bind of a type 2 window",
                    "a datagram",
                    "an XRC send",
                ),
            ),
            (
                "poll",
                (
                    "an RDMA read",
                    "a compare-and-swap",
                    "a fetch-and-add",
                    "a receive with immediate data",
                    "a receive with invalidate",
                    "a local invalidate",
                    "a bind of a type 1 window",
                    "a bind of a type 2 window",
                    "a datagram's send",
                    "a datagram's receive",
                    "an XRC receive",
                ),
            ),
        )
        for what in objects
    },
    "post, 64 bytes inline in 4 pieces": DATA,
    "poll with a timestamp, batches of 1": DATA,
    "poll with a timestamp, batches of 32": DATA,
    **{
        f"{verb}: {what}": CONTROL
        for what in (
            "UC queue pair",
            "UD queue pair",
            "shared receive queue",
            "memory window",
            "address handle",
            "XRC domain",
            "XRC initiator",
            "XRC target",
            "XRC receive queue",
        )
        for verb in ("create", "destroy")
    },
    "resize a completion queue": CONTROL,
    "moderate a completion queue": CONTROL,
    "change a region's rights": CONTROL,
    "replace a region's memory": CONTROL,
    "join a multicast group": CONTROL,
    "leave a multicast group": CONTROL,
    "query a queue pair": CONTROL,
    "query a shared receive queue": CONTROL,
    "arm a shared receive queue": CONTROL,
}


def rows_with(bound):
    """Names of the rows with this bound."""
    return [name for name, of in VERBS.items() if of == bound]
