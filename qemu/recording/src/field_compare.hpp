// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <freehca/recording/driver_replay.hpp>
#include <freehca/recording/structures.hpp>

namespace freehca::recording {

/// Compares answers field by field and adds what differs to a result, where and when it was.
class field_comparison {
 public:
  explicit field_comparison(driver_replay_result& to) : to_(to) {}

  /// What follows is of this record.
  void at(const record& r) { here_ = &r; }
  void step(const std::string& name) { step_ = name; }
  const std::string& step() const { return step_; }

  void configuration(const record& call, std::uint64_t card, std::uint64_t model);
  void register_read(const record& call, std::uint64_t card, std::uint64_t model);
  /// The last word of the command register, when the command that it has is over.
  void command_register(const record& call, std::uint64_t card, std::uint64_t model);
  /// A polled command that the model has ended, by that word of the command register, and the
  /// recording never does, until `when`.
  void unanswered(const record& command, std::uint64_t model, const std::string& when);
  /// An output mailbox.
  void output(const record& written, const record& command, const std::vector<std::byte>& model);
  /// An entry of a queue, seen at `place`; `step` is what the driver did then, `command` the one
  /// that a command event ends. Null: that side has none.
  void entry(const record* place, const std::string& step, const std::string& what,
             std::uint64_t queue, const record* command, const std::vector<std::byte>* card,
             const std::vector<std::byte>* model);
  /// The command that is given to the adapter.
  void posted(const record& command) { posted_ = command; }

 private:
  void add(const std::string& where, const std::string& field, const std::string& card,
           const std::string& model, const page_row& row);
  /// False: the field is volatile.
  bool counts(const std::string& name, bool differs);
  template <class Rows>
  void fields(const std::string& where, const std::vector<placed>& parts,
              const std::vector<std::byte>& card, const std::vector<std::byte>& model, Rows&& rows);
  template <class Row>
  void reserved(const std::string& where, const std::string& what, const std::vector<placed>& parts,
                std::vector<std::byte> card, std::vector<std::byte> model, Row&& row);

  driver_replay_result& to_;
  const record* here_ = nullptr;
  std::string step_;
  record posted_;
};

}  // namespace freehca::recording
