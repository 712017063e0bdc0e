--help/hca.kinds_queue_pair_report.o: \
 hca/src/kinds/queue_pair_report.cpp \
 hca/include/freehca/hca/kinds/queue_pair_changes.hpp \
 /usr/include/c++/12/cstdint \
 /usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/os_defines.h \
 /usr/include/features.h /usr/include/features-time64.h \
 /usr/include/x86_64-linux-gnu/bits/wordsize.h \
 /usr/include/x86_64-linux-gnu/bits/timesize.h /usr/include/stdc-predef.h \
 /usr/include/x86_64-linux-gnu/sys/cdefs.h \
 /usr/include/x86_64-linux-gnu/bits/long-double.h \
 /usr/include/x86_64-linux-gnu/gnu/stubs.h \
 /usr/include/x86_64-linux-gnu/gnu/stubs-64.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/cpu_defines.h \
 /usr/include/c++/12/pstl/pstl_config.h \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/stdint.h \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/stdint-gcc.h \
 hca/include/freehca/hca/kinds/queue_pair.hpp \
 firmware_cmds/include/freehca/firmware_cmds/qp.hpp \
 firmware_cmds/include/freehca/firmware_cmds/typed.hpp \
 /usr/include/c++/12/concepts /usr/include/c++/12/type_traits \
 /usr/include/c++/12/cstddef \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/stddef.h \
 firmware_cmds/include/freehca/firmware_cmds/command.hpp \
 firmware_cmds/include/freehca/firmware_cmds/lease.hpp \
 hal/include/freehca/hal/assert.hpp \
 hal/include/freehca/hal/list.hpp \
 hal/include/freehca/hal/status.hpp \
 hal/layouts/include/freehca/layouts/command_status.hpp \
 hal/include/freehca/hal/operation.hpp \
 /usr/include/c++/12/coroutine /usr/include/c++/12/compare \
 hal/layouts/include/freehca/layouts/opcode.hpp \
 firmware_cmds/include/freehca/firmware_cmds/mailbox.hpp \
 hal/include/freehca/hal/dma.hpp \
 hal/include/freehca/hal/access_flavour.hpp \
 hal/include/freehca/hal/regions.hpp \
 hal/layouts/include/freehca/layouts/bit_operations.hpp \
 /usr/include/c++/12/bit /usr/include/c++/12/ext/numeric_traits.h \
 /usr/include/c++/12/bits/cpp_type_traits.h \
 /usr/include/c++/12/ext/type_traits.h \
 hal/layouts/include/freehca/layouts/hcr.hpp \
 hal/layouts/include/freehca/layouts/layout.hpp \
 hal/layouts/include/freehca/layouts/assert.hpp \
 hal/layouts/include/freehca/layouts/register_map.hpp \
 hal/layouts/include/freehca/layouts/qpc.hpp \
 hal/layouts/include/freehca/layouts/ib_types.hpp \
 queues/include/freehca/queues/directory.hpp \
 hal/include/freehca/hal/power_of_two.hpp \
 queues/include/freehca/queues/rq.hpp \
 hal/include/freehca/hal/barrier.hpp \
 hal/include/freehca/hal/cache.hpp \
 hal/layouts/include/freehca/layouts/doorbell.hpp \
 hal/layouts/include/freehca/layouts/wqe.hpp \
 queues/include/freehca/queues/receive_request.hpp \
 queues/include/freehca/queues/data_entry.hpp \
 hal/layouts/include/freehca/layouts/word.hpp \
 queues/include/freehca/queues/work_completion.hpp \
 hal/layouts/include/freehca/layouts/cqe.hpp \
 queues/include/freehca/queues/requests.hpp \
 queues/include/freehca/queues/address.hpp \
 queues/include/freehca/queues/wqe_stores.hpp \
 queues/include/freehca/queues/sq.hpp \
 hal/include/freehca/hal/mmio.hpp \
 queues/include/freehca/queues/opcode_sets.hpp \
 queues/include/freehca/queues/sq_shape.hpp \
 queues/include/freehca/queues/srq.hpp \
 hca/include/freehca/hca/kinds/address_attributes.hpp \
 hca/include/freehca/hca/capabilities.hpp \
 hal/layouts/include/freehca/layouts/query_dev_cap.hpp \
 hal/layouts/include/freehca/layouts/query_port.hpp \
 hca/include/freehca/hca/objects/handle.hpp \
 hca/include/freehca/hca/port_addresses.hpp \
 hal/include/freehca/hal/atomics.hpp /usr/include/c++/12/atomic \
 /usr/include/c++/12/bits/atomic_base.h \
 /usr/include/c++/12/bits/atomic_lockfree_defines.h \
 /usr/include/c++/12/bits/move.h /usr/include/c++/12/bits/atomic_wait.h \
 /usr/include/c++/12/bits/functional_hash.h \
 /usr/include/c++/12/bits/hash_bytes.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/gthr.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h \
 /usr/include/pthread.h /usr/include/sched.h \
 /usr/include/x86_64-linux-gnu/bits/types.h \
 /usr/include/x86_64-linux-gnu/bits/typesizes.h \
 /usr/include/x86_64-linux-gnu/bits/time64.h \
 /usr/include/x86_64-linux-gnu/bits/types/time_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_timespec.h \
 /usr/include/x86_64-linux-gnu/bits/endian.h \
 /usr/include/x86_64-linux-gnu/bits/endianness.h \
 /usr/include/x86_64-linux-gnu/bits/sched.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_sched_param.h \
 /usr/include/x86_64-linux-gnu/bits/cpu-set.h /usr/include/time.h \
 /usr/include/x86_64-linux-gnu/bits/time.h \
 /usr/include/x86_64-linux-gnu/bits/timex.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_timeval.h \
 /usr/include/x86_64-linux-gnu/bits/types/clock_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_tm.h \
 /usr/include/x86_64-linux-gnu/bits/types/clockid_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/timer_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_itimerspec.h \
 /usr/include/x86_64-linux-gnu/bits/types/locale_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__locale_t.h \
 /usr/include/x86_64-linux-gnu/bits/pthreadtypes.h \
 /usr/include/x86_64-linux-gnu/bits/thread-shared-types.h \
 /usr/include/x86_64-linux-gnu/bits/pthreadtypes-arch.h \
 /usr/include/x86_64-linux-gnu/bits/atomic_wide_counter.h \
 /usr/include/x86_64-linux-gnu/bits/struct_mutex.h \
 /usr/include/x86_64-linux-gnu/bits/struct_rwlock.h \
 /usr/include/x86_64-linux-gnu/bits/setjmp.h \
 /usr/include/x86_64-linux-gnu/bits/types/__sigset_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct___jmp_buf_tag.h \
 /usr/include/x86_64-linux-gnu/bits/pthread_stack_min-dynamic.h \
 /usr/include/c++/12/cerrno /usr/include/errno.h \
 /usr/include/x86_64-linux-gnu/bits/errno.h /usr/include/linux/errno.h \
 /usr/include/x86_64-linux-gnu/asm/errno.h \
 /usr/include/asm-generic/errno.h /usr/include/asm-generic/errno-base.h \
 /usr/include/x86_64-linux-gnu/bits/types/error_t.h \
 /usr/include/c++/12/climits \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/limits.h \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/syslimits.h \
 /usr/include/limits.h \
 /usr/include/x86_64-linux-gnu/bits/libc-header-start.h \
 /usr/include/x86_64-linux-gnu/bits/posix1_lim.h \
 /usr/include/x86_64-linux-gnu/bits/local_lim.h \
 /usr/include/linux/limits.h \
 /usr/include/x86_64-linux-gnu/bits/posix2_lim.h \
 /usr/include/x86_64-linux-gnu/bits/xopen_lim.h \
 /usr/include/x86_64-linux-gnu/bits/uio_lim.h /usr/include/unistd.h \
 /usr/include/x86_64-linux-gnu/bits/posix_opt.h \
 /usr/include/x86_64-linux-gnu/bits/environments.h \
 /usr/include/x86_64-linux-gnu/bits/confname.h \
 /usr/include/x86_64-linux-gnu/bits/getopt_posix.h \
 /usr/include/x86_64-linux-gnu/bits/getopt_core.h \
 /usr/include/x86_64-linux-gnu/bits/unistd_ext.h \
 /usr/include/linux/close_range.h /usr/include/syscall.h \
 /usr/include/x86_64-linux-gnu/sys/syscall.h \
 /usr/include/x86_64-linux-gnu/asm/unistd.h \
 /usr/include/x86_64-linux-gnu/asm/unistd_64.h \
 /usr/include/x86_64-linux-gnu/bits/syscall.h \
 /usr/include/c++/12/bits/functexcept.h \
 /usr/include/c++/12/bits/exception_defines.h \
 /usr/include/c++/12/bits/std_mutex.h /usr/include/c++/12/system_error \
 /usr/include/x86_64-linux-gnu/c++/12/bits/error_constants.h \
 /usr/include/c++/12/iosfwd /usr/include/c++/12/bits/stringfwd.h \
 /usr/include/c++/12/bits/memoryfwd.h /usr/include/c++/12/bits/postypes.h \
 /usr/include/c++/12/cwchar /usr/include/wchar.h \
 /usr/include/x86_64-linux-gnu/bits/floatn.h \
 /usr/include/x86_64-linux-gnu/bits/floatn-common.h \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/stdarg.h \
 /usr/include/x86_64-linux-gnu/bits/wchar.h \
 /usr/include/x86_64-linux-gnu/bits/types/wint_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/mbstate_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__mbstate_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__FILE.h \
 /usr/include/x86_64-linux-gnu/bits/types/FILE.h \
 /usr/include/c++/12/stdexcept /usr/include/c++/12/exception \
 /usr/include/c++/12/bits/exception.h \
 /usr/include/c++/12/bits/exception_ptr.h \
 /usr/include/c++/12/bits/cxxabi_init_exception.h \
 /usr/include/c++/12/typeinfo /usr/include/c++/12/new \
 /usr/include/c++/12/bits/nested_exception.h /usr/include/c++/12/string \
 /usr/include/c++/12/bits/char_traits.h \
 /usr/include/c++/12/bits/stl_construct.h \
 /usr/include/c++/12/bits/stl_iterator_base_types.h \
 /usr/include/c++/12/bits/iterator_concepts.h \
 /usr/include/c++/12/bits/ptr_traits.h \
 /usr/include/c++/12/bits/ranges_cmp.h \
 /usr/include/c++/12/bits/stl_iterator_base_funcs.h \
 /usr/include/c++/12/bits/concept_check.h \
 /usr/include/c++/12/debug/assertions.h \
 /usr/include/c++/12/bits/allocator.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/c++allocator.h \
 /usr/include/c++/12/bits/new_allocator.h \
 /usr/include/c++/12/bits/localefwd.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/c++locale.h \
 /usr/include/c++/12/clocale /usr/include/locale.h \
 /usr/include/x86_64-linux-gnu/bits/locale.h /usr/include/c++/12/cctype \
 /usr/include/ctype.h /usr/include/c++/12/bits/ostream_insert.h \
 /usr/include/c++/12/bits/cxxabi_forced.h \
 /usr/include/c++/12/bits/stl_iterator.h \
 /usr/include/c++/12/bits/stl_function.h \
 /usr/include/c++/12/backward/binders.h \
 /usr/include/c++/12/bits/stl_algobase.h \
 /usr/include/c++/12/bits/stl_pair.h /usr/include/c++/12/bits/utility.h \
 /usr/include/c++/12/debug/debug.h \
 /usr/include/c++/12/bits/predefined_ops.h \
 /usr/include/c++/12/bits/refwrap.h /usr/include/c++/12/bits/invoke.h \
 /usr/include/c++/12/bits/range_access.h \
 /usr/include/c++/12/initializer_list \
 /usr/include/c++/12/bits/basic_string.h \
 /usr/include/c++/12/ext/alloc_traits.h \
 /usr/include/c++/12/bits/alloc_traits.h /usr/include/c++/12/string_view \
 /usr/include/c++/12/bits/ranges_base.h \
 /usr/include/c++/12/bits/max_size_type.h /usr/include/c++/12/numbers \
 /usr/include/c++/12/bits/string_view.tcc \
 /usr/include/c++/12/ext/string_conversions.h /usr/include/c++/12/cstdlib \
 /usr/include/stdlib.h /usr/include/x86_64-linux-gnu/bits/waitflags.h \
 /usr/include/x86_64-linux-gnu/bits/waitstatus.h \
 /usr/include/x86_64-linux-gnu/sys/types.h \
 /usr/include/x86_64-linux-gnu/bits/stdint-intn.h /usr/include/endian.h \
 /usr/include/x86_64-linux-gnu/bits/byteswap.h \
 /usr/include/x86_64-linux-gnu/bits/uintn-identity.h \
 /usr/include/x86_64-linux-gnu/sys/select.h \
 /usr/include/x86_64-linux-gnu/bits/select.h \
 /usr/include/x86_64-linux-gnu/bits/types/sigset_t.h \
 /usr/include/alloca.h /usr/include/x86_64-linux-gnu/bits/stdlib-float.h \
 /usr/include/c++/12/bits/std_abs.h /usr/include/c++/12/cstdio \
 /usr/include/stdio.h /usr/include/x86_64-linux-gnu/bits/types/__fpos_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__fpos64_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_FILE.h \
 /usr/include/x86_64-linux-gnu/bits/types/cookie_io_functions_t.h \
 /usr/include/x86_64-linux-gnu/bits/stdio_lim.h \
 /usr/include/c++/12/bits/charconv.h \
 /usr/include/c++/12/bits/basic_string.tcc \
 hal/layouts/include/freehca/layouts/set_port.hpp \
 hca/include/freehca/hca/ethernet/port_modification.hpp \
 hca/include/freehca/hca/ports.hpp \
 firmware_cmds/include/freehca/firmware_cmds/channel.hpp \
 firmware_cmds/include/freehca/firmware_cmds/command_client.hpp \
 firmware_cmds/include/freehca/firmware_cmds/slot.hpp \
 hal/include/freehca/hal/platform.hpp \
 hal/include/freehca/hal/log.hpp \
 hal/include/freehca/hal/reactor.hpp \
 hal/include/freehca/hal/clock.hpp \
 hal/include/freehca/hal/crossing.hpp \
 firmware_cmds/include/freehca/firmware_cmds/mad.hpp \
 hal/layouts/include/freehca/layouts/mad.hpp \
 hal/layouts/include/freehca/layouts/mad_ifc.hpp \
 hal/layouts/include/freehca/layouts/smp.hpp \
 hca/include/freehca/hca/kinds/completion_queue.hpp \
 firmware_cmds/include/freehca/firmware_cmds/cq.hpp \
 hal/layouts/include/freehca/layouts/cqc.hpp \
 queues/include/freehca/queues/cq.hpp \
 hca/include/freehca/hca/objects/creation.hpp \
 hal/include/freehca/hal/page_list.hpp \
 hca/include/freehca/hca/objects/object_operation.hpp \
 hca/include/freehca/hca/context_tables.hpp \
 firmware_cmds/include/freehca/firmware_cmds/icm.hpp \
 hal/layouts/include/freehca/layouts/map.hpp \
 hal/include/freehca/hal/dma_arena.hpp \
 hca/include/freehca/hca/budget.hpp \
 hca/include/freehca/hca/context_layout.hpp \
 hca/include/freehca/hca/objects/object.hpp \
 hca/include/freehca/hca/objects/kind.hpp \
 hal/layouts/include/freehca/layouts/eqe.hpp \
 hca/include/freehca/hca/numbers.hpp \
 hca/include/freehca/hca/objects/verbs.hpp \
 hca/include/freehca/hca/attribute_ids.hpp \
 hal/include/freehca/hal/fields.hpp \
 hca/include/freehca/hca/device.hpp \
 hca/include/freehca/hca/bring_up.hpp \
 hca/include/freehca/hca/device_control.hpp \
 hca/include/freehca/hca/device_info.hpp \
 hca/include/freehca/hca/uar.hpp \
 hca/include/freehca/hca/device_plan.hpp \
 queues/include/freehca/queues/eq.hpp \
 hal/layouts/include/freehca/layouts/eq_doorbell.hpp \
 hca/include/freehca/hca/device_ports.hpp \
 hca/include/freehca/hca/device_sequence.hpp \
 hca/include/freehca/hca/event_context.hpp \
 hca/include/freehca/hca/events.hpp \
 hca/include/freehca/hca/health.hpp \
 hca/include/freehca/hca/owner_registry.hpp \
 hca/include/freehca/hca/event_relay.hpp \
 hal/include/freehca/hal/storage.hpp \
 hca/include/freehca/hca/pci_function.hpp \
 hca/include/freehca/hca/port_operation.hpp \
 firmware_cmds/include/freehca/firmware_cmds/port.hpp \
 hal/layouts/include/freehca/layouts/config_dev.hpp \
 hca/include/freehca/hca/objects/number_directory.hpp \
 hca/include/freehca/hca/objects/slab.hpp \
 hca/include/freehca/hca/objects/verbs_budget.hpp \
 hca/include/freehca/hca/objects/verbs_events.hpp \
 hca/include/freehca/hca/kinds/protection_domain.hpp \
 hca/include/freehca/hca/kinds/queue_pair_service.hpp \
 hca/include/freehca/hca/kinds/shared_receive_queue.hpp \
 firmware_cmds/include/freehca/firmware_cmds/srq.hpp \
 hal/layouts/include/freehca/layouts/srqc.hpp
