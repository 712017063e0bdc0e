// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// fabric_member NAME: joins the fabric, prints its slot and LID, and leaves when its input ends.
#include <cstdio>

#include <freehca/wires_shm/fabric_port.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string why;
  const auto port = freehca::wires::fabric_port::join(argv[1], why);
  if (port == nullptr) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  std::printf("%u %u\n", port->slot(), unsigned{port->lid()});
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  return 0;
}
