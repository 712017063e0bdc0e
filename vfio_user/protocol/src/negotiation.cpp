// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_user/negotiation.hpp>

#include <cerrno>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace freehca::vfio_user {
namespace {

using nlohmann::json;

// Reads a number of at least `least` that fits into T. If the name is absent, `to` is unchanged.
template <class T>
bool read_number(const json& from, const char* name, std::uint64_t least, T& to) {
  const auto found = from.find(name);
  if (found == from.end()) return true;
  if (!found->is_number_unsigned()) return false;
  const auto value = found->get<std::uint64_t>();
  if (value < least || value > std::numeric_limits<T>::max()) return false;
  to = static_cast<T>(value);
  return true;
}

bool read_switch(const json& from, const char* name, bool& to) {
  const auto found = from.find(name);
  if (found == from.end()) return true;
  if (!found->is_boolean()) return false;
  to = found->get<bool>();
  return true;
}

bool read_capabilities(std::string_view text, terms& found) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return false;
  const auto capabilities = document.find("capabilities");
  if (capabilities == document.end()) return true;
  return capabilities->is_object() &&
         read_number(*capabilities, "max_msg_fds", 0, found.max_msg_fds) &&
         read_number(*capabilities, "max_data_xfer_size", 8, found.max_data_xfer_size) &&
         read_number(*capabilities, "max_dma_maps", 0, found.max_dma_maps) &&
         read_number(*capabilities, "pgsizes", 1, found.pgsizes) &&
         read_switch(*capabilities, "write_multiple", found.write_multiple);
}

}  // namespace

int read_terms(std::span<const std::byte> body, terms& found) {
  const auto numbers = beginning<version>(body);
  if (!numbers) return EINVAL;
  if (numbers->major != major_version) return ENOTSUP;
  terms read;
  read.major = numbers->major;
  read.minor = numbers->minor;
  const auto rest = body.subspan(sizeof(version));
  if (!rest.empty()) {
    if (rest.back() != std::byte{0}) return EINVAL;
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size() - 1);
    if (!read_capabilities(text, read)) return EINVAL;
  }
  found = read;
  return 0;
}

std::vector<std::byte> write_terms(const terms& said) {
  const json document = {{"capabilities",
                          {{"max_msg_fds", said.max_msg_fds},
                           {"max_data_xfer_size", said.max_data_xfer_size},
                           {"max_dma_maps", said.max_dma_maps},
                           {"pgsizes", said.pgsizes},
                           {"write_multiple", said.write_multiple}}}};
  const std::string text = document.dump();
  const version numbers{said.major, said.minor};
  std::vector<std::byte> body(sizeof numbers + text.size() + 1);
  std::memcpy(body.data(), &numbers, sizeof numbers);
  std::memcpy(body.data() + sizeof numbers, text.c_str(), text.size() + 1);
  return body;
}

}  // namespace freehca::vfio_user
