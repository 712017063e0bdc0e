// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The modelled adapter in place of one over VFIO: a program for the latter that is linked with this
// runs without hardware, QEMU or privileges.
#include <cstdio>
#include <cstdlib>

#include <freehca/blocking/host.hpp>
#include <freehca/in_process/machine.hpp>

namespace freehca::blocking {
namespace {

class in_process_host final : public host {
 public:
  ~in_process_host() override {
    for (const std::string& c : machine_.complaints()) std::fprintf(stderr, "%s\n", c.c_str());
    if (!machine_.complaints().empty()) std::abort();
  }
  freehca::platform platform() override { return machine_.platform(); }
  /// Driver and adapter share one virtual clock, which moves only here: also for a driver that
  /// wants to look again at once.
  void wait(std::uint64_t deadline) override {
    constexpr std::uint64_t look = 200;
    machine_.step(deadline == 0 ? machine_.time() + look : deadline);
  }

 private:
  in_process::machine machine_;
};

}  // namespace

std::unique_ptr<host> open_host(const std::string& pci_address, std::size_t, std::string& why) {
  if (!pci_address.empty()) return std::make_unique<in_process_host>();
  why = "no address";
  return nullptr;
}

}  // namespace freehca::blocking
