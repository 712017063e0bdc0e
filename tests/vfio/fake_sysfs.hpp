// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace freehca::testing {

/// A folder that looks like the part of sysfs that is read; gone with the object.
class fake_sysfs {
 public:
  fake_sysfs() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "freehca-sysfs-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(root_ / "bus/pci/devices");
  }
  ~fake_sysfs() { std::filesystem::remove_all(root_); }
  fake_sysfs(const fake_sysfs&) = delete;
  fake_sysfs& operator=(const fake_sysfs&) = delete;

  void add(const std::string& address, const char* vendor, const char* device, const char* driver,
           int group) {
    namespace fs = std::filesystem;
    const fs::path at = root_ / "bus/pci/devices" / address;
    fs::create_directories(at);
    std::ofstream(at / "vendor") << vendor << '\n';
    std::ofstream(at / "device") << device << '\n';
    std::ofstream(at / "subsystem_vendor") << "0x15b3\n";
    std::ofstream(at / "subsystem_device") << "0x0050\n";
    if (driver != nullptr) {
      const fs::path home = root_ / "bus/pci/drivers" / driver;
      fs::create_directories(home);
      fs::create_symlink(home, at / "driver");
    }
    if (group >= 0) {
      const fs::path home = root_ / "kernel/iommu_groups" / std::to_string(group);
      fs::create_directories(home / "devices");
      fs::create_symlink(home, at / "iommu_group");
      fs::create_symlink(at, home / "devices" / address);
    }
  }
  /// A file of the function's folder, with folders in its name.
  void write(const std::string& address, const std::string& file, const char* text) {
    const std::filesystem::path at = root_ / "bus/pci/devices" / address / file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text << '\n';
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace freehca::testing
