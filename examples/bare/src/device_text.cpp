// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Prints the device in the format of hcactl info.
#include <freehca/bare/console.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/port_names.hpp>
#include <freehca/texts/names.hpp>

#include "bring_up.hpp"

namespace freehca::bare {

namespace {

void tell_port(unsigned number, const port_attributes& p) {
  const char label[] = {'p', 'o', 'r', 't', ' ', static_cast<char>('0' + number), 0};
  line to(label);
  to << layouts::name_of(p.link_layer) << ", " << layouts::name_of(p.state) << ", GUID ";
  to.guid(p.guid) << ", LID " << p.lid << ", SM LID " << p.sm_lid << ", MTU "
                  << std::uint64_t{layouts::mtu_bytes(p.active_mtu)} << " of "
                  << std::uint64_t{layouts::mtu_bytes(p.max_mtu)} << ", " << p.gid_table_length
                  << " GIDs, " << p.pkey_table_length << " P_Keys";
}

void tell_capabilities(const capabilities& c) {
  line("limits") << c.ports << " ports, gather " << c.most_gather << ", scatter " << c.most_scatter
                 << ", messages of " << c.most_message_bytes << " bytes, reads "
                 << c.most_reads_as_requester << " as requester and " << c.most_reads_as_responder
                 << " as responder";
  line("") << "2^" << c.log_most_wqes << " work requests in a queue, 2^" << c.log_most_cqes
           << " completions, 2^" << c.log_most_srq_wqes << " shared receives, entries of "
           << c.cqe_bytes << " and " << c.eqe_bytes << " bytes";
  line("reserved") << c.reserved_qps << " QPs, " << c.reserved_cqs << " CQs, " << c.reserved_srqs
                   << " SRQs, " << c.reserved_eqs << " EQs, " << c.reserved_mpts << " MPTs, "
                   << c.reserved_mtts << " MTTs, " << c.reserved_uars << " UARs";
  line to("flags");
  to.hex(c.raw.get<&layouts::query_dev_cap::flags>(), 16) << ", extended ";
  to.hex(c.raw.get<&layouts::query_dev_cap::bmme_flags>(), 8);
}

void tell_memory(const device_info& i) {
  line("lent") << i.lent_firmware << " bytes to the firmware, " << i.lent_auxiliary << " auxiliary";
  line to("context");
  to << "memory";
  for (unsigned t = 0; t < context_tables_count; ++t)
    if (i.lent_context[t] != 0)
      to << " " << name_of(static_cast<context_table>(t)) << " " << i.lent_context[t];
}

}  // namespace

void tell_device(const device& of) {
  const device_info i = of.info();
  {
    line to("firmware");
    to << i.firmware_major << "." << i.firmware_minor << ".";
    to.four_digits(i.firmware_subminor)
        << ", board " << i.board_id << ", command interface " << i.command_interface << ", "
        << i.most_commands << " commands in flight, completion by "
        << (i.interrupts_work ? "interrupt" : "polling");
  }
  {
    line to("GUIDs");
    to << "node ";
    to.guid(i.node_guid) << ", system image ";
    to.guid(i.system_image_guid);
  }
  tell_capabilities(of.capabilities());
  for (unsigned n = 0; n < i.ports; ++n) tell_port(n + 1, i.port[n]);
  tell_memory(i);
  if (!i.internal_errors_show)
    line("WARNING") << "its error buffer cannot be read: an internal error shows only in commands "
                       "without an answer";
  if (!i.interrupts_work)
    line("WARNING")
        << "at " << name_of(bring_up_step::use_events) << ": no interrupt came ("
        << machine::messages_text()
        << "): event queues are polled; look at MSI-X, at bridges above the adapter and "
           "at an IOMMU that remaps interrupts";
}

unsigned active_port(const device& of) {
  const device_info i = of.info();
  for (unsigned n = 1; n <= i.ports; ++n)
    if (of.port(n).link_layer == layouts::port_type::ib && of.port(n).active()) return n;
  tell({name_of(bring_up_step::wait_for_ports),
        "no InfiniBand port is active",
        "Down: look at the cable and its other end; Initialize: start a subnet manager "
        "(in QEMU: sm=on)",
        {}});
  return 0;
}

}  // namespace freehca::bare
