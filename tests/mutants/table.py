# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The mutants: each is one fault in one file of the tree.

`pattern` is plain text that stands in the file exactly once; `replacement` takes its place.
`lives`: no suite finds this one yet; docs/ci-time.md says why. `slow`: it changes so many programs
that it is not drawn. No mutant is either at present.
"""
import typing


class Mutant(typing.NamedTuple):
    name: str
    file: str
    pattern: str
    replacement: str
    breaks: str
    lives: bool = False
    slow: bool = False


MUTANTS = (
    Mutant(
        "C1",
        "firmware_cmds/src/channel.cpp",
        "    s.token = static_cast<std::uint16_t>(s.token + (1u << index_bits_));\n",
        "",
        "a reset of the device leaves the tokens of the command slots as they were",
    ),
    Mutant(
        "C2",
        "queues/src/cq.cpp",
        "                                      cqe_syndrome::transport_retry_exceeded,\n"
        "                                      cqe_syndrome::rnr_retry_exceeded,\n",
        "                                      cqe_syndrome::rnr_retry_exceeded,\n"
        "                                      cqe_syndrome::transport_retry_exceeded,\n",
        "RNR retries exceeded is reported as transport retries exceeded, and the reverse",
    ),
    Mutant(
        "C3",
        "queues/src/cq.cpp",
        "e.set<&cqe::owner>(lap_of(i + gone) != 0);",
        "e.set<&cqe::owner>(lap_of(i) != 0);",
        "a completion that moves up keeps the owner bit of its old place",
    ),
    Mutant(
        "C4",
        "hca/src/device.cpp",
        "  if (bar0_.bytes < layouts::bar0::size) return transport_error::bad_reply;\n",
        "",
        "a BAR 0 that is too short is taken",
    ),
    Mutant(
        "C5",
        "hca/src/context_lending.cpp",
        "      b->state = block_state::mapped;\n      if (b->references == 0) give_up(*b);\n",
        "      b->state = block_state::mapped;\n",
        "a block that lost its last user while it was being mapped stays lent",
    ),
    Mutant(
        "C6",
        "hca/src/sequence_reset.cpp",
        "    mmio::write_32(bar0_, layouts::bar0::reset, layouts::bar0::reset_value);\n",
        "",
        "closing an adapter that nothing else stops does not reset it",
    ),
    Mutant(
        "C7",
        "hal/include/freehca/hal/crossing.hpp",
        "  void notify() noexcept {\n    Atomics::fence(seq_cst);\n",
        "  void notify() noexcept {\n",
        "the fence between a request to another owner and the look whether that owner sleeps",
    ),
    Mutant(
        "C8",
        "hal/include/freehca/hal/crossing.hpp",
        "last->next_.store(&what, release);",
        "last->next_.store(&what, relaxed);",
        "what was written before inbox::put() need not be seen by the receiving owner",
    ),
    Mutant(
        "C9",
        "hca/include/freehca/hca/event_relay.hpp",
        "    if (at - taken_.load(acquire) == places) return",
        "    if (at - taken_.load(acquire) == 2 * places) return",
        "a full relay of asynchronous events overwrites the oldest and counts none as lost",
    ),
    Mutant(
        "C10",
        "hca/src/steps_firmware.cpp",
        "  if (d.firmware_pages_ == 0) return transport_error::bad_reply;\n",
        "",
        "firmware that asks for no pages is taken",
    ),
    Mutant(
        "C11",
        "queues/src/cq.cpp",
        "  barrier::dma_store_to_dma_store();\n  tell_consumer();\n",
        "  tell_consumer();\n",
        "the barrier between completions that moved and the consumer index",
    ),
    Mutant(
        "C12",
        "hca/src/steps_reset.cpp",
        "      barrier::mmio_store_to_mmio_store();\n",
        "",
        "the barrier behind the store to the reset register",
    ),
    Mutant(
        "C13",
        "hca/src/pci_function.cpp",
        "    v &= 0xffff & ~command_master;\n",
        "    v &= 0xffff;\n",
        "without set_bus_master of the platform, bus mastering is never switched off",
    ),
    Mutant(
        "M1",
        "qemu/model/src/queues/send_window.cpp",
        "  retries_left_ = most.retries;\n  rnr_retries_left_ = most.rnr_retries;\n}\n\nbool",
        "  retries_left_ = most.retries;\n}\n\nbool",
        "progress does not give RNR retries back",
    ),
    Mutant(
        "M2",
        "qemu/model/src/transport/responder_reads.cpp",
        "  return static_cast<std::size_t>(waiting) >= most;\n",
        "  return static_cast<std::size_t>(waiting) > most;\n",
        "a responder takes one read more than rra_max allows",
    ),
    Mutant(
        "M3",
        "qemu/model/src/queues/send_window.hpp",
        "{ return psn_distance(psn, sent_psn_) < 0; }",
        "{ return psn_distance(psn, sent_psn_) <= 0; }",
        "an acknowledgement of the next packet, which was not sent yet, counts",
    ),
    Mutant(
        "M4",
        "qemu/model/src/transport/responder.cpp",
        "    if (ahead != 0 || p.first) rq.in_progress = message::none;\n",
        "    if (ahead != 0) rq.in_progress = message::none;\n",
        "over UC a first packet does not end the message in progress",
    ),
    Mutant(
        "M6",
        "qemu/model/src/queues/completion_commands.cpp",
        "  is.must(a_.memory.read(record_at, record.data(), record.size()), rule::record_readable,\n",
        "  is.must(a_.memory.read(record_at, record.data(), record.size()) || true,\n"
        "          rule::record_readable,\n",
        "MODIFY_CQ takes a queue whose doorbell record cannot be read",
    ),
    Mutant(
        "M7",
        "qemu/model/src/basis/rules_of_commands.hpp",
        '"the adapter can read the doorbell record by DMA"',
        '"the adapter can read the doorbell record"',
        "the text of a rule, which drivers are told when they break it, has changed",
    ),
)
