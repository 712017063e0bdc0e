// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::vfio_user {

/// One who asks on a control socket, as any program might.
class control_caller {
 public:
  /// Connects at once, or stays closed.
  explicit control_caller(const std::string& path);

  bool open() const { return socket_.open(); }
  int socket() const { return socket_.get(); }
  /// Sends bytes as they are; false: the server does not take them.
  bool send(const std::string& bytes);
  /// The next line without its end, waited for; nothing when the server hangs up first.
  std::optional<std::string> line();
  /// Sends a line and takes the next. Null when there is none, or it is no JSON.
  nlohmann::json ask(const std::string& request);
  /// The same for {"request": name} with arguments, an object.
  nlohmann::json ask(const std::string& name, nlohmann::json arguments);
  /// It sends no more.
  void finish();
  bool hung_up();

 private:
  descriptor socket_;
  std::string arrived_;
};

}  // namespace freehca::vfio_user
