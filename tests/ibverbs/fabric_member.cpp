// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// fabric_member NAME [roce]: joins the fabric, prints its slot and LID (of an Ethernet fabric slot
// and IP address), and leaves when its input ends.
#include <cstdio>
#include <cstring>

#include <freehca/wires_shm/fabric_port.hpp>

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  std::string why;
  freehca::wires::join_request how;
  if (argc == 3 && std::strcmp(argv[2], "roce") == 0)
    how.link = freehca::wires::link_layer::ethernet;
  const auto port = freehca::wires::fabric_port::join(argv[1], why, how);
  if (port == nullptr) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  if (how.link == freehca::wires::link_layer::ethernet)
    std::printf("%u %s\n", port->slot(), freehca::wires::text_of(port->address()).c_str());
  else std::printf("%u %u\n", port->slot(), unsigned{port->lid()});
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  return 0;
}
