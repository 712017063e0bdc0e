// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The program by itself: how it begins, whom it lets in, and how it ends.
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

struct program : served {
  // Starts it with arguments that are wrong, or cannot be served.
  void expect_refusal(const std::vector<std::string>& arguments, int code,
                      const std::string& words) {
    served_program one;
    one.start(arguments);
    EXPECT_EQ(code, one.wait());
    EXPECT_NE(std::string::npos, one.said().find(words)) << one.said();
    EXPECT_EQ(std::string::npos, one.said().find("ready")) << one.said();
  }
};

TEST_F(program, it_ends_when_it_is_asked_to_and_leaves_nothing) {
  for (const int number : {SIGTERM, SIGINT}) {
    start();
    kill(server.process(), number);
    EXPECT_EQ(0, server.wait());
    EXPECT_NE(0, access(socket.c_str(), F_OK));
  }
}

TEST_F(program, wrong_usage) {
  expect_refusal({}, 2, "--socket is required");
  expect_refusal({"--socket", socket, "--variant", "connectx9"}, 2, "connectx3-pro, connectx3 or");
  expect_refusal({"--socket", socket, "--ports", "3"}, 2, "an adapter has 1 or 2");
  expect_refusal({"--socket", socket, "--link1", "wifi"}, 2, "a link is 'ib' or 'eth'");
  expect_refusal({"--socket", socket, "--ports", "1", "--link2", "eth"}, 2, "needs --ports 2");
  expect_refusal({"--socket", socket, "--max-commands", "3"}, 2, "a power of two from 1 to 128");
  expect_refusal({"--socket", socket, "--bar2-size", "9M"}, 2, "8M, 16M, 32M, 64M or 128M");
  expect_refusal({"--socket", socket, "--host-memory-limit", "1M"}, 2, "32M or more");
  expect_refusal({"--socket", socket, "--guid", "12"}, 2, "16 hexadecimal digits");
  expect_refusal({"--socket", socket, "--mac", "01:02:c9:f0:ca:01"}, 2, "unicast");
  expect_refusal({"--socket", socket, "--sm", "yes"}, 2, "on or off");
  expect_refusal({"--socket", socket, "--x-device-id", "65536"}, 2, "a number up to 65535");
  expect_refusal({"--socket", socket, "--x-record-label", "text"}, 2, "needs --x-record");
  expect_refusal(
      {"--socket", socket, "--port1", "stream:listen=" + files.path("w"), "--cable1", "off"}, 2,
      "a cable of its own");
}

TEST_F(program, what_the_model_refuses) {
  expect_refusal({"--socket", socket, "--x-rules-off", "no_such_rule"}, 1, "no_such_rule");
  expect_refusal({"--socket", socket, "--x-fault-command", "any:never"}, 1, "--x-fault-command");
  expect_refusal({"--socket", socket, "--x-fault-event", "any:never"}, 1, "--x-fault-event");
  expect_refusal({"--socket", socket, "--x-fault-link1", "loss:1"}, 1, "--x-fault-link1");
}

TEST_F(program, what_the_system_refuses) {
  const std::string nowhere = files.path("no/such/folder");
  expect_refusal({"--socket", nowhere}, 1, "No such file or directory");
  expect_refusal({"--socket", "/proc/freehca-device"}, 1, "/proc/freehca-device: ");
  expect_refusal({"--socket", files.path(std::string(200, 'x'))}, 1, "107 at most");
  expect_refusal({"--socket", socket, "--capture1", nowhere}, 1, "--capture1");
  expect_refusal({"--socket", socket, "--x-record", nowhere}, 1, "--x-record");
  expect_refusal({"--socket", socket, "--port1", "stream:listen=" + nowhere}, 1, "--port1");
  expect_refusal({"--socket", socket, "--port1", "pigeon"}, 1, "dgram:local=ADDRESS");
  for (const char* link : {"ib", "vpi-eth"})
    for (const char* wire : {"user", "tap:ifname=a"})
      expect_refusal({"--socket", socket, "--link1", link, "--port1", wire}, 2, "--link1 eth");
  expect_refusal({"--socket", socket, "--port2", "stream:listen=nothing"}, 1, "HOST:PORT");
  std::ofstream(files.path("file")) << "kept";
  expect_refusal({"--socket", files.path("file")}, 1, "it exists");
  EXPECT_EQ(0, access(files.path("file").c_str(), F_OK)) << "somebody's file stays";
  EXPECT_NE(0, access(socket.c_str(), F_OK));
}

TEST_F(program, a_socket_that_is_served_is_not_taken_away) {
  start();
  expect_refusal({"--socket", socket}, 1, "it exists");
  EXPECT_EQ(0x100715b3u, configuration(0));
}

TEST_F(program, a_socket_that_a_killed_server_left_is) {
  start();
  kill(server.process(), SIGKILL);
  EXPECT_EQ(-1, server.wait());
  EXPECT_EQ(0, access(socket.c_str(), F_OK));
  start();
  EXPECT_EQ(0x100715b3u, configuration(0));
}

TEST_F(program, a_second_client_is_told_that_it_is_too_many) {
  start();
  client second, third;
  ASSERT_EQ(0, second.connect(socket));
  ASSERT_EQ(0, third.connect(socket));
  EXPECT_EQ(EBUSY, second.negotiate());
  EXPECT_EQ(EBUSY, third.negotiate());
  EXPECT_EQ(0x100715b3u, configuration(0)) << "the first knows nothing of it";
  c.disconnect();
  int why = EBUSY;
  for (int i = 0; i < 1000 && why != 0; ++i) {
    ASSERT_EQ(0, second.connect(socket));
    why = second.negotiate();
    if (why != 0) usleep(1000);
  }
  EXPECT_EQ(0, why) << "the next is served when the first has left";
}

TEST_F(program, what_it_is_told_by_faults_happens) {
  start({"--x-without", "", "--max-commands", "8", "--x-device-id", "0x1013", "--class-code",
         "0x020700", "--strict", "on"});
  EXPECT_EQ(0x101315b3u, configuration(0));
  EXPECT_EQ(0x02070000u, configuration(8));
}

TEST_F(program, without_msix_the_function_has_its_pin_alone) {
  for (const char* msix : {"on", "off"}) {
    SCOPED_TRACE(msix);
    const bool has_msix = msix == std::string("on");
    start({"--x-msix", msix});
    unsigned found = 0, links = 0;
    for (std::uint32_t at = configuration(PCI_CAPABILITY_LIST, 1); at != 0 && links < 48; ++links) {
      if (configuration(at, 1) == PCI_CAP_ID_MSIX) ++found;
      at = configuration(at + 1, 1);
    }
    EXPECT_EQ(has_msix ? 5u : 4u, links);
    EXPECT_EQ(has_msix ? 1u : 0u, found);
    irq_info vectors{}, pin{};
    vectors.index = msix_irq;
    pin.index = intx_irq;
    ASSERT_EQ(0, c.describe(vectors));
    ASSERT_EQ(0, c.describe(pin));
    EXPECT_EQ(has_msix ? 128u : 0u, vectors.count);
    EXPECT_EQ(1u, pin.count);
    EXPECT_EQ(1u, configuration(PCI_INTERRUPT_PIN, 1));
    c.disconnect();
    EXPECT_EQ(0, server.stop());
  }
}

TEST_F(program, a_recording_is_whole_at_the_end) {
  start({"--x-record", files.path("recording"), "--x-record-label", "a test"});
  c.disconnect();
  EXPECT_EQ(0, server.stop());
  std::ifstream file(files.path("recording"));
  std::string first, line, last;
  std::getline(file, first);
  while (std::getline(file, line)) last = line;
  EXPECT_NE(std::string::npos, first.find("a test"));
  EXPECT_NE(std::string::npos, last.find("end")) << last;
}

}  // namespace
}  // namespace freehca::vfio_user
