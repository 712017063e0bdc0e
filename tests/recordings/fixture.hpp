// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A recording that stands in the tree (make.sh), decoded by the layout tables, and what the
// recorded machine's tools printed of themselves meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <freehca/layouts/cqe.hpp>
#include <freehca/recording/structures.hpp>

namespace freehca::testing {

/// Bytes that the adapter read or wrote, and which table's they are.
struct found {
  const recording::record* where;
  const recording::record* command;  ///< of a mailbox
  std::vector<std::byte> bytes;
  std::vector<recording::placed> parts;
};

class fixture {
 public:
  /// Loaded once.
  static const fixture& named(const std::string& name);

  const recording::recording& whole() const { return whole_; }
  const std::string& printed() const { return printed_; }
  /// What stands in the recording, in its order: mailboxes, entries, work requests, doorbell
  /// records. An entry that the adapter read more than once stands here once, as long as it is the
  /// same.
  const std::vector<found>& all() const { return all_; }

  /// The structures T of the input mailboxes of `command`, for object `number` where one is given.
  template <class T>
  std::vector<layouts::image<T>> given(layouts::opcode command, const char* name,
                                       std::int64_t number = -1) const {
    std::vector<layouts::image<T>> wanted;
    for (const found& f : all_)
      if (f.command != nullptr && f.command->opcode == command &&
          f.where->what == "input_mailbox" &&
          (number < 0 || (f.command->input_modifier & 0xffffff) == number))
        take(f, name, wanted);
    return wanted;
  }
  /// The segments T of the work requests of a queue pair.
  template <class T>
  std::vector<layouts::image<T>> posted(const char* what, std::uint32_t qpn,
                                        const char* name) const {
    std::vector<layouts::image<T>> wanted;
    for (const found& f : all_)
      if (f.where->what == what && f.where->of == qpn) take(f, name, wanted);
    return wanted;
  }
  std::vector<layouts::image<layouts::cqe>> completed(std::uint32_t qpn, bool send) const;

 private:
  struct queue_pair_shape {
    layouts::qp_service service;
    unsigned log_sq_size;
  };

  explicit fixture(const std::string& name);
  template <class T>
  static void take(const found& f, const char* name, std::vector<layouts::image<T>>& to) {
    for (const recording::placed& p : f.parts)
      if (std::string(p.what.name) == name)
        to.push_back(layouts::image<T>::from_bytes(f.bytes.data() + p.offset));
  }
  void take(const recording::record& r);
  void mailbox(const recording::record& r);
  void entry(const recording::record& r);
  void send_wqe(const recording::record& r);
  void add(const recording::record& r, const recording::record* c, std::vector<std::byte> bytes,
           std::vector<recording::placed> parts);

  recording::recording whole_;
  std::string printed_;
  std::vector<found> all_;
  std::map<layouts::opcode, const recording::record*> last_;
  std::map<std::uint64_t, queue_pair_shape> shapes_;
  std::vector<std::byte> head_;
  /// What was last read of a work request: by its kind, its queue and its counter.
  std::map<std::pair<std::string, std::pair<std::uint64_t, std::uint64_t>>, std::vector<std::byte>>
      requests_;
};

}  // namespace freehca::testing
