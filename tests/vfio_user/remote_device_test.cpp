// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver's port to an adapter behind a socket, when nobody is behind it any more.
#include <freehca/vfio_user_host/remote_device.hpp>

#include <signal.h>

#include "served_program.hpp"

namespace freehca::vfio_user_host {
namespace {

// Whatever the driver was about to ask for then, its adapter is gone, as one that reads as all
// ones.
TEST(remote_device, is_gone_when_its_server_is) {
  const vfio_user::folder files;
  vfio_user::served_program server;
  server.start({"--socket", files.path("device")});
  std::string why;
  const auto device = remote_device::open(files.path("device"), why);
  ASSERT_NE(nullptr, device) << why;
  const platform to = device->platform();
  kill(server.process(), SIGKILL);
  server.wait();
  dma_region memory;
  EXPECT_TRUE(
      to.operations->allocate_dma(to.context, 0x1000, 0x1000, &memory).is(transport_error::gone));
  EXPECT_TRUE(to.operations->reset_function(to.context).is(transport_error::gone));
  EXPECT_TRUE(to.operations->set_bus_master(to.context, true).is(transport_error::gone));
  EXPECT_TRUE(device->lost());
}

}  // namespace
}  // namespace freehca::vfio_user_host
