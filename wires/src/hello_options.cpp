// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/hello_options.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <freehca/wires/descriptor.hpp>

#include "keyed_digest.hpp"

namespace freehca::wires {
namespace {

constexpr std::string_view secret_option = "secret=", name_option = "name=";
constexpr mode_t rights_of_others = 077;

std::string read_secret(const std::string& path, std::vector<std::byte>& to) {
  if (!has_keyed_digest) return "secret: this build has no nettle (Debian: nettle-dev)";
  // Without O_NONBLOCK, open() would wait for the writer of a FIFO.
  const wires::descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file.open() || fstat(file.get(), &about) != 0)
    return fmt::format("secret={}: {}", path, std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return fmt::format("secret={}: it is not a regular file", path);
  if ((about.st_mode & rights_of_others) != 0)
    return fmt::format("secret={0}: its mode is {1:04o}, so others can use it: chmod 600 {0}", path,
                       about.st_mode & 07777);
  std::vector<std::byte> all(hello_options::longest_secret + 2);
  std::size_t bytes = 0;
  for (ssize_t got = 1; got > 0 && bytes < all.size();) {
    got = ::read(file.get(), all.data() + bytes, all.size() - bytes);
    if (got < 0) return fmt::format("secret={}: {}", path, std::strerror(errno));
    bytes += static_cast<std::size_t>(got);
  }
  // An editor or echo ends the file with a line feed.
  if (bytes != 0 && all[bytes - 1] == std::byte{'\n'}) --bytes;
  if (bytes < hello_options::shortest_secret || bytes > hello_options::longest_secret)
    return fmt::format("secret={}: a secret has {} to {} bytes, without a line feed at its end",
                       path, hello_options::shortest_secret, hello_options::longest_secret);
  all.resize(bytes);
  to = std::move(all);
  return "";
}

std::string take_option(std::string_view option, hello_options& to) {
  if (option.starts_with(name_option)) {
    if (!to.name.empty()) return "name= is there twice";
    to.name = option.substr(name_option.size());
    if (is_wire_name(to.name)) return "";
    return fmt::format("name={}: a name has 1 to {} letters, digits and -_.:", to.name,
                       hello_options::longest_name);
  }
  if (to.without_secret || !to.secret.empty()) return "secret= is there twice";
  const std::string path(option.substr(secret_option.size()));
  to.without_secret = path == "none";
  return to.without_secret ? "" : read_secret(path, to.secret);
}

}  // namespace

bool is_wire_name(const std::string& text) {
  return !text.empty() && text.size() <= hello_options::longest_name &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == ':';
         });
}

std::string read_hello_options(const std::string& text, std::string& address, hello_options& to) {
  address = text;
  while (true) {
    const std::size_t comma = address.rfind(',');
    if (comma == std::string::npos) return "";
    const std::string option = address.substr(comma + 1);
    if (!option.starts_with(secret_option) && !option.starts_with(name_option)) break;
    if (std::string why = take_option(option, to); !why.empty()) return why;
    address.resize(comma);
  }
  // A misspelt option behind secret= must not make the secret a part of a path.
  for (const std::string_view option : {secret_option, name_option})
    if (address.find(fmt::format(",{}", option)) != std::string::npos)
      return fmt::format("{}: after an address there are secret=FILE and name=NAME only", text);
  return "";
}

bool lacks_secret(const std::string& address, const hello_options& options) {
  return address.find('/') == std::string::npos && options.secret.empty() &&
         !options.without_secret;
}

std::string no_secret_warning(const std::string& address, bool listens) {
  return fmt::format(
      "TCP without a secret: any program that {} {} becomes the peer (secret=FILE prevents it; "
      "secret=none permits it)",
      listens ? "reaches" : "listens at", address);
}

}  // namespace freehca::wires
