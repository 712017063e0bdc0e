#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# What the face promises to programs (tests/programs/face*.cpp), with an adapter over VFIO. Left out
# are promises that need two adapters, captures, memory that is not pinned, or 10,000 queue pairs.
# program: freehca-run
# program: freehca_program_face
# needs: build/host/ibverbs/libfreehca-verbs-vfio.so
# options: --driver vfio --device mlx4,ports=1 --memory 1G
# options: --file build/host/ibverbs/libfreehca-verbs-vfio.so:/usr/lib/freehca/libfreehca-verbs-vfio.so
# options: --file tests/guest/linux_traffic.sh:/guest/linux_traffic.sh
# mostly: waits
# again: iommufd long --kernel iommufd
. /usr/lib/guest/lib.sh
# shellcheck source=tests/guest/linux_traffic.sh
. /guest/linux_traffic.sh
hca=$(hca_address) || fail "no adapter"
log_mark
for name in exec_frees_the_slot children_outlive_their_parent channel_is_a_descriptor blocking_get_waits \
  signals_interrupt_waits destroy_waits_for_acknowledgements asynchronous_events_are_acknowledged \
  events_of_destroyed_queues_are_dropped channel_in_use_is_busy opens_have_their_own_events \
  wrong_transitions_are_refused posts_before_their_state_fail full_queues_are_enomem \
  posts_of_too_much_are_refused unknown_operations_are_refused requests_are_built \
  faults_without_handler_end_the_program threads_of_the_face_block_signals \
  threads_have_queue_pairs_of_their_own threads_make_and_destroy posting_threads_may_be_cancelled \
  exit_while_threads_work exit_in_a_handler sent_signals_end_the_program \
  chaining_handlers_end_the_program threads_are_cancelled_behind_an_open \
  closed_devices_leave_their_queues children_are_refused_too impossible_registrations_are_refused \
  functions_of_newer_releases_are_refused negative_counts_are_refused \
  inline_data_that_is_too_long_is_refused datagrams_have_no_remote_address \
  unmapped_memory_is_an_error_unless_it_is_pinned memory_without_rights_is_refused \
  read_only_memory_is_only_read regions_have_addresses_of_their_own; do
  timeout 250 freehca-run --device "vfio:$hca" -- freehca_program_face $name >/run/out 2>&1 ||
    fail "$name, status $?: $(cat /run/out)"
  grep -q "^seed " /run/out || fail "$name: $(cat /run/out)"
done
log_clean || fail "the kernel's log"
no_complaints
