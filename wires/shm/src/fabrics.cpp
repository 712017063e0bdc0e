// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires_shm/fabrics.hpp>

#include <dirent.h>

#include <algorithm>
#include <memory>

#include "addresses.hpp"
#include "fabric_file.hpp"
#include "file_registry.hpp"

namespace freehca::wires {
namespace {

// A peer may have written anything: the text ends with the field, and has printable characters
// only.
std::string program_of(const shm::slot_record& record) {
  std::string name;
  for (const std::atomic<char>& place : record.program) {
    const char c = place.load(std::memory_order_relaxed);
    if (c == 0) break;
    name += c > ' ' && c < 127 ? c : '?';
  }
  return name;
}

void list_members(const shm::fabric_file& file, std::vector<fabric_member>& to) {
  for (unsigned slot = 0; slot < shm::slots; ++slot) {
    const shm::slot_record& record = file.control().slot[slot];
    if (record.life.load(std::memory_order_acquire) % 2 == 0 || !file.alive(slot)) continue;
    const auto lid = static_cast<std::uint16_t>(record.lid.load(std::memory_order_relaxed));
    const bool ethernet = file.link() == link_layer::ethernet;
    to.push_back({slot, lid, ethernet ? shm::mac_of_lid(lid) : 0,
                  ethernet ? shm::address_of(record) : ip_address{},
                  record.process.load(std::memory_order_relaxed), program_of(record),
                  ethernet ? shm::vlan_addresses_of(record) : std::vector<vlan_address>{}});
  }
}

}  // namespace

std::vector<fabric_listing> fabrics() {
  return fabrics_in(shm::default_folder());
}

std::vector<fabric_listing> fabrics_in(const std::string& folder) {
  const std::string prefix = shm::fabric_prefix();
  std::vector<fabric_listing> found;
  DIR* names = opendir(folder.c_str());
  if (names == nullptr) return found;
  while (const dirent* entry = readdir(names)) {
    const std::string name = entry->d_name;
    if (name.starts_with(prefix)) found.push_back({name.substr(prefix.size()), {}, {}, {}});
  }
  closedir(names);
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  // No port of this process may be made while a second descriptor of its file is open.
  const shm::file_registry registry;
  std::erase_if(found, [&](fabric_listing& one) {
    const std::string path = folder + "/" + prefix + one.name;
    std::shared_ptr<shm::fabric_file> file = registry.find(path);
    bool gone = false;
    if (file == nullptr) file = shm::fabric_file::look(path, one.problem, gone);
    if (file != nullptr) {
      one.link = file->link();
      list_members(*file, one.members);
    }
    return gone;
  });
  return found;
}

}  // namespace freehca::wires
