// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <memory>

#include <freehca/layouts/eqe.hpp>

#include "basis/adapter.hpp"
#include "fabric/mad_packet.hpp"
#include "fabric/managed_port.hpp"
#include "fabric/management_agent.hpp"
#include "fabric/performance_agent.hpp"
#include "fabric/trap_sender.hpp"
#include "fabric/vendor_agent.hpp"
#include "link/link_peer.hpp"
#include "ports/mad_demultiplexer.hpp"
#include "ports/port.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class cable;
class subnet_manager;

/// One InfiniBand port: its link, its packets, the firmware's agents on it, and the events that
/// tell the host. At the far end of its link is a cable to another adapter, or the built-in subnet
/// manager, or nobody, as the options say.
class infiniband_port final : public port, private change_listener, private work_receiver {
 public:
  infiniband_port(adapter& a, const node_identity& node, const mad_demultiplexer& demux,
                  unsigned number);
  ~infiniband_port() override;

  /// Who is at the far end of the link; null: nobody. An open port loses its link and trains anew.
  void connect(link_peer* peer);

  /// What the peer tells: somebody is there to train with, is ready for LinkUp, is there no more.
  void partner_came();
  void partner_ready();
  void partner_lost();

  void pkey_violation(const packet* p);
  /// Tells the host of a change that is none. False: there is no such subtype.
  bool raise_management_change(layouts::port_management_subtype what);
  managed_port& managed() { return managed_; }
  const managed_port& managed() const { return managed_; }

  // port
  link_layer layer() const override { return link_layer::infiniband; }
  unsigned number() const override { return number_; }
  void open() override;
  void close() override;
  bool is_open() const override { return open_; }
  bool has_peer() const override { return peer_ != nullptr; }
  bool link_up() const override {
    return managed_.physical_state() == layouts::port_physical_state::link_up;
  }
  void clear() override;
  void plug(bool plugged) override;
  void arrived(std::span<const std::byte> bytes) override;
  void has_room() override;
  bool set_faults(const link_faults& how) override;
  void transmit(packet p) override;
  void receive_from_link(packet p) override;
  /// Takes a packet as receive_from_link() does, but during the call. The caller is a function that
  /// the scheduler runs.
  void arrive(const packet& p);
  bool held_up(const path& way) const override;
  void capture(const packet& p) override;
  bool active() const override { return managed_.state() == layouts::port_state::active; }
  unsigned mtu_bytes() const override;
  std::uint16_t base_lid() const override { return managed_.lid(); }
  bool own_lid(std::uint16_t lid) const override;
  std::uint16_t source_lid(unsigned path_bits) const override;
  unsigned pkey_entries() const override { return managed_.pkey_entries; }
  std::uint16_t pkey(unsigned index) const override { return managed_.pkeys[index]; }
  bool gid(unsigned index, std::byte* to) const override;
  void count_pkey_violation() override { pkey_violation(nullptr); }
  void count_qkey_violation(std::uint32_t qkey, std::uint32_t source_qp) override;
  mad_result local_mad(mad_buffer& mad, bool check_mkey) override;
  void local_change(bool node_description) override;

 private:
  void port_info_set(const layouts::image<layouts::port_info>& before,
                     bool client_reregister) override;
  void pkeys_set(unsigned block, std::uint32_t mask) override;
  void guids_set(unsigned block, std::uint32_t mask) override;
  void sl_to_vl_set() override;
  void state_wanted(layouts::port_state state, layouts::port_physical_state physical) override;
  void mkey_checked(const layouts::image<layouts::dr_smp>& request, bool passed) override;
  void trap_repressed(std::uint64_t transaction_id) override;

  managed_port at_power_on() const;
  void train();
  void trained();
  void link_trained();
  void lose_link(layouts::port_physical_state next);
  void stop_polling(layouts::port_physical_state next);
  /// Within a link that is up.
  void change_state(layouts::port_state state);
  void post_management_change(const layouts::image<layouts::eqe>& e);
  void post_table_change(layouts::port_management_subtype subtype, unsigned block,
                         std::uint32_t mask);

  bool returns_at_once(const packet& p, const packet_summary& s) const;
  /// Sets the virtual lane that the service level leads to; false: there is none.
  bool choose_lane(packet& p) const;
  bool too_long(const packet& p) const;
  /// Tells of a packet that goes no further.
  void discarded(const char* which, const packet_summary& s, const char* why);
  bool may_pass(const packet_summary& s, bool outward) const;
  void loop_back(packet p);
  bool taken_by_firmware(const packet& p, const packet_summary& s);
  void answer_smp(const mad_packet& request);
  void answer_gmp(const mad_packet& request);
  /// A MAD of QP1 to the agent of its class.
  mad_result general_mad(mad_buffer& mad);
  bool sm_reachable() const;
  template <class N>
  void raise(const layouts::image<N>& notice);
  void send_trap(const mad_buffer& mad);
  bool host_owns(unsigned special_qp) const;
  void leave_state(layouts::port_physical_state next);

  // Of packets and of a wanted state, generation: generation_. Of a wanted state, number: it.
  enum work : std::uint8_t {
    train_end,
    wanted_state,
    mkey_lease_end,
    packet_to_peer,
    looped_packet,
    arrival,
    trap_to_host
  };
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  const node_identity& node_;
  const mad_demultiplexer& demux_;
  const unsigned number_;
  managed_port managed_;
  management_agent subnet_agent_;
  performance_agent performance_agent_;
  vendor_agent vendor_agent_;
  trap_sender traps_;
  std::unique_ptr<cable> cable_;             ///< to another adapter
  std::unique_ptr<subnet_manager> manager_;  ///< built in; null where there is a cable
  link_peer* peer_ = nullptr;
  bool open_ = false;
  bool trained_ = false;  ///< ready for LinkUp
  scheduler::ticket training_, mkey_lease_;
  std::uint64_t generation_ =
      0;  ///< of the link: packets under way die with the link that they are on
  std::uint64_t sent_ = 0, received_ = 0, looped_back_ = 0;

 public:
  using saved = saving::fields<
      &infiniband_port::managed_, &infiniband_port::subnet_agent_,
      &infiniband_port::performance_agent_, &infiniband_port::traps_,
      saving::behind(&infiniband_port::cable_), saving::behind(&infiniband_port::manager_),
      &infiniband_port::open_, &infiniband_port::trained_, &infiniband_port::training_,
      &infiniband_port::mkey_lease_, &infiniband_port::generation_, &infiniband_port::sent_,
      &infiniband_port::received_, &infiniband_port::looped_back_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"vendor_agent_", "it has no state"},
      {"work_", "set at construction"},
      {"peer_", "transfer_state() writes which of them it is"}};
  void transfer_state(saving::writer& to);
  void transfer_state(saving::reader& from);
  const char* broken_invariant() const {
    return !trained_ || (open_ && peer_ != nullptr)
               ? nullptr
               : "a port has trained, and is closed or has no peer";
  }

 private:
  template <class Archive>
  void transfer_with_peer(Archive& archive);
};

}  // namespace freehca::model
