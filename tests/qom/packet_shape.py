# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""What an InfiniBand packet must look like from LRH to VCRC, with nothing of the model's: the
headers that its opcode demands (IBTA vol. 1, 5.2 and table 38), lengths, padding and reserved
fields. For XRC and the masked atomics this is the check: tshark 4.0 knows the first by the name of
the opcode alone, and the second not at all."""
import struct

GRH, BTH, DETH, RETH, ATOMIC_ETH, AETH, ATOMIC_ACK_ETH, IMMEDIATE, IETH, XRC_ETH = (
    40,
    12,
    8,
    16,
    28,
    4,
    8,
    4,
    4,
    4,
)
MASKED_SWAP_ETH = 44
ICRC, VCRC = 4, 2
MTUS = (256, 512, 1024, 2048, 4096)
RC, UC, UD, XRC, RC_MASKED, XRC_MASKED = 0x00, 0x20, 0x60, 0xA0, 0xC0, 0xE0
(
    SEND_FIRST,
    SEND_MIDDLE,
    SEND_LAST,
    SEND_LAST_IMMEDIATE,
    SEND_ONLY,
    SEND_ONLY_IMMEDIATE,
    WRITE_FIRST,
    WRITE_MIDDLE,
    WRITE_LAST,
    WRITE_LAST_IMMEDIATE,
    WRITE_ONLY,
    WRITE_ONLY_IMMEDIATE,
    READ_REQUEST,
    READ_FIRST,
    READ_MIDDLE,
    READ_LAST,
    READ_ONLY,
    ACKNOWLEDGE,
    ATOMIC_ACKNOWLEDGE,
    COMPARE_AND_SWAP,
    FETCH_AND_ADD,
    _,
    SEND_LAST_INVALIDATE,
    SEND_ONLY_INVALIDATE,
) = range(24)

# What stands between BTH (and XRCETH) and the payload, and what the payload may be.
WHOLE, REST, ANY, NONE = "a whole MTU", "1 to an MTU", "0 to an MTU", "nothing"
OPERATIONS = {
    SEND_FIRST: (0, WHOLE),
    SEND_MIDDLE: (0, WHOLE),
    SEND_LAST: (0, REST),
    SEND_LAST_IMMEDIATE: (IMMEDIATE, REST),
    SEND_ONLY: (0, ANY),
    SEND_ONLY_IMMEDIATE: (IMMEDIATE, ANY),
    WRITE_FIRST: (RETH, WHOLE),
    WRITE_MIDDLE: (0, WHOLE),
    WRITE_LAST: (0, REST),
    WRITE_LAST_IMMEDIATE: (IMMEDIATE, REST),
    WRITE_ONLY: (RETH, ANY),
    WRITE_ONLY_IMMEDIATE: (RETH + IMMEDIATE, ANY),
    READ_REQUEST: (RETH, NONE),
    READ_FIRST: (AETH, WHOLE),
    READ_MIDDLE: (0, WHOLE),
    READ_LAST: (AETH, REST),
    READ_ONLY: (AETH, ANY),
    ACKNOWLEDGE: (AETH, NONE),
    ATOMIC_ACKNOWLEDGE: (AETH + ATOMIC_ACK_ETH, NONE),
    COMPARE_AND_SWAP: (ATOMIC_ETH, NONE),
    FETCH_AND_ADD: (ATOMIC_ETH, NONE),
    SEND_LAST_INVALIDATE: (IETH, REST),
    SEND_ONLY_INVALIDATE: (IETH, ANY),
}
RESPONSES = range(READ_FIRST, ATOMIC_ACKNOWLEDGE + 1)
# AETH, 9.7.5.2: acknowledge, not ready, not acknowledged with five codes.
ACK, NOT_READY, NOT_ACKNOWLEDGED = 0, 1, 3


def headers_and_payload(opcode):
    """Bytes between BTH and payload, and what the payload may be; None for an opcode that does not
    exist."""
    service, operation = opcode & 0xE0, opcode & 0x1F
    if service in (RC_MASKED, XRC_MASKED):
        size = {COMPARE_AND_SWAP: MASKED_SWAP_ETH, FETCH_AND_ADD: ATOMIC_ETH}.get(operation)
        return size and (size + (XRC_ETH if service == XRC_MASKED else 0), NONE)
    if service == UD:
        return {SEND_ONLY: (DETH, ANY), SEND_ONLY_IMMEDIATE: (DETH + IMMEDIATE, ANY)}.get(operation)
    if (
        operation not in OPERATIONS
        or service not in (RC, UC, XRC)
        or service == UC
        and operation > WRITE_ONLY_IMMEDIATE
    ):
        return None
    size, payload = OPERATIONS[operation]
    return size + (XRC_ETH if service == XRC and operation not in RESPONSES else 0), payload


def payload_is(bytes_left, padding, kind):
    if kind == NONE:
        return bytes_left == 0 and padding == 0
    if kind == WHOLE:
        return bytes_left in MTUS and padding == 0
    return (
        (kind == ANY or bytes_left > padding)
        and padding <= bytes_left
        and bytes_left - padding <= MTUS[-1]
    )


def wrongs(packet):
    """What is wrong with a packet, as a list of words; its CRCs are another's."""
    found = []
    at = 8 + (GRH if packet[1] & 3 == 3 else 0)
    if packet[1] & 3 < 2:
        return ["raw packet"]
    if len(packet) < at + BTH + ICRC + VCRC:
        return ["short"]
    (length,) = struct.unpack_from(">H", packet, 4)
    if packet[0] & 0x0F or packet[1] & 0x0C or length & 0xF800:
        found.append("link version or reserved bits of LRH")
    if (length & 0x7FF) * 4 + VCRC != len(packet):
        found.append("packet length of LRH")
    if at > 8:
        (version,) = struct.unpack_from(">I", packet, 8)
        length, following = struct.unpack_from(">HB", packet, 12)
        if version >> 28 != 6 or following != 0x1B or length != len(packet) - at - VCRC:
            found.append("GRH")
    opcode, flags = packet[at], packet[at + 1]
    padding = flags >> 4 & 3
    if flags & 0x0F or packet[at + 4] & 0x3F or packet[at + 8] & 0x7F:
        found.append("transport version or reserved bits of BTH")
    shape = headers_and_payload(opcode)
    if shape is None:
        return found + ["opcode"]
    size, kind = shape
    if len(packet) < at + BTH + size + ICRC + VCRC:
        return found + ["headers cut short"]
    if not payload_is(len(packet) - at - BTH - size - ICRC - VCRC, padding, kind):
        found.append(f"not {kind} of payload")
    extended = packet[at + BTH :]
    if opcode & 0xE0 in (XRC, XRC_MASKED) and opcode & 0x1F not in RESPONSES and extended[0]:
        found.append("reserved bits of XRCETH")
    if opcode & 0xE0 == UD and extended[4]:
        found.append("reserved bits of DETH")
    if opcode & 0x1F in RESPONSES and opcode & 0x1F != READ_MIDDLE:
        kind, value = extended[0] >> 5, extended[0] & 0x1F
        if kind not in (ACK, NOT_READY, NOT_ACKNOWLEDGED) or kind == NOT_ACKNOWLEDGED and value > 4:
            found.append("syndrome of AETH")
        if opcode & 0x1F != ACKNOWLEDGE and kind != ACK:
            found.append("answer with data that is no acknowledgement")
    return found
