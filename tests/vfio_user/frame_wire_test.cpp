// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A port that leads to a tap device, or to a user network.
#include <freehca/wires/frame_wire.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "kept_frames.hpp"
#include "served_program.hpp"

namespace freehca::wires {
namespace {

using namespace std::string_literals;
using vfio_user::descriptor;
using vfio_user::folder;

const std::string station = "\x02\x00\x00\x00\x00\x01"s, everybody(6, '\xff');
const std::string who_has = "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01"s;
const std::string is_at = "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x02"s;

// ARP, as RFC 826 has it: "who has `asked`, tell `own`", both of four bytes.
std::string question(const std::string& own, const std::string& asked) {
  return everybody + station + who_has + station + own + std::string(6, 0) + asked;
}

// The frame that answers: to the station, with `asked` as the sender's address.
bool answers(const std::string& frame, const std::string& asked) {
  return frame.size() >= 42 && frame.substr(0, 6) == station && frame.substr(12, 10) == is_at &&
         frame.substr(28, 4) == asked;
}

template <class Condition>
bool comes(wire& w, kept& to, Condition is) {
  for (int i = 0; i < 250; ++i) {
    turn(w, to);
    for (const std::string& frame : to.all)
      if (is(frame)) return true;
  }
  return false;
}

const std::string guest = "\x0a\x00\x02\x0f"s, gateway = "\x0a\x00\x02\x02"s;

struct user_wires : ::testing::Test {
  // The wire has ended it, and nobody else has a child here.
  ~user_wires() override {
    made.reset();
    EXPECT_EQ(-1, waitpid(-1, nullptr, WNOHANG));
    EXPECT_EQ(ECHILD, errno) << "a process is left";
  }
  pid_t process() const {
    pid_t found = 0;
    std::ifstream("/proc/self/task/" + std::to_string(gettid()) + "/children") >> found;
    return found;
  }
  // A line of /proc/PID/status.
  std::string status(const std::string& name) const {
    std::ifstream file("/proc/" + std::to_string(process()) + "/status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
    return "";
  }
  std::string why;
  kept got;
  std::unique_ptr<wire> made;
};

TEST_F(user_wires, the_gateway_answers) {
  made = make_wire("user", why);
  ASSERT_NE(nullptr, made) << why;
  EXPECT_STREQ("open", made->state_name());
  const std::string asks = question(guest, gateway);
  EXPECT_TRUE(made->send(bytes(asks), asks.size()));
  EXPECT_TRUE(comes(*made, got, [](const auto& f) { return answers(f, gateway); }));
}

TEST_F(user_wires, frames_that_are_none_do_no_harm) {
  made = make_wire("user", why);
  ASSERT_NE(nullptr, made) << why;
  for (std::size_t length = 0; length < 100; ++length) {
    std::string wrong = question(guest, gateway) + std::string(100, '\xff');
    wrong[12] = static_cast<char>(length % 2 == 0 ? 0x08 : 0x86);
    wrong[13] = static_cast<char>(length % 2 == 0 ? 0x00 : 0xdd);
    EXPECT_TRUE(made->send(bytes(wrong), length) || !made->idle());
    turn(*made, got);
  }
  const std::string asks = question(guest, gateway);
  for (int i = 0; i < 100 && !made->send(bytes(asks), asks.size()); ++i) turn(*made, got);
  EXPECT_TRUE(comes(*made, got, [](const auto& f) { return answers(f, gateway); }));
}

TEST_F(user_wires, a_port_of_the_host_leads_to_the_guest) {
  constexpr std::uint16_t port = 47115;
  made = make_wire("user:hostfwd=tcp:127.0.0.1:" + std::to_string(port) + "-:22", why);
  ASSERT_NE(nullptr, made) << why;
  const descriptor caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(0, connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to));
  EXPECT_TRUE(comes(*made, got, [](const auto& f) {
    return f.size() >= 42 && f.substr(12, 10) == who_has && f.substr(38, 4) == guest;
  })) << "it looks for the guest";
}

// Packets of a guest to the gateway, as RFC 791, RFC 768 and RFC 793 have them.
std::string big_endian(std::uint16_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
}

std::uint16_t checksum(const std::string& text) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    sum += static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << (i % 2 == 0 ? 8 : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::string packet(char protocol, const std::string& content) {
  const auto length = static_cast<std::uint16_t>(20 + content.size());
  const std::string before = "\x45\0"s + big_endian(length) + "\0\1\0\0\x40"s + protocol;
  const std::string addresses = guest + gateway;
  return everybody + station + "\x08\0"s + before +
         big_endian(checksum(before + "\0\0"s + addresses)) + addresses + content;
}

constexpr char udp_protocol = 17, tcp_protocol = 6;
constexpr std::uint16_t guest_port = 3000;

// Without a checksum, as UDP permits.
std::string datagram(std::uint16_t port, const std::string& data) {
  const auto length = static_cast<std::uint16_t>(8 + data.size());
  return packet(udp_protocol,
                big_endian(guest_port) + big_endian(port) + big_endian(length) + "\0\0"s + data);
}

// The first segment of a connection.
std::string opening(std::uint16_t port) {
  const std::string before =
      big_endian(guest_port) + big_endian(port) + "\0\0\0\1\0\0\0\0\x50\x02\x10\0"s;
  const std::string pseudo = guest + gateway + "\0\x06\0\x14"s;
  return packet(tcp_protocol,
                before + big_endian(checksum(pseudo + before + "\0\0\0\0"s)) + "\0\0"s);
}

// A socket of the host's at a port that the kernel chooses.
struct host_socket {
  explicit host_socket(int type) : own(socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    EXPECT_EQ(0, bind(own.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
    EXPECT_EQ(0, getsockname(own.get(), reinterpret_cast<sockaddr*>(&at), &length));
  }
  std::uint16_t port() const { return ntohs(at.sin_port); }
  bool becomes_readable() const {
    pollfd one{own.get(), POLLIN, 0};
    return poll(&one, 1, 5000) == 1;
  }
  descriptor own;
  sockaddr_in at{};
};

TEST_F(user_wires, a_closed_one_reaches_the_host_and_the_files_of_its_folder) {
  const folder files;
  std::ofstream(files.path("boot")) << "a small file";
  made = make_wire("user:tftp=" + files.path(""), why, closed_process::mode::required);
  ASSERT_NE(nullptr, made) << why;
  EXPECT_EQ("2", status("Seccomp"));
  const auto send = [this](const std::string& frame) {
    EXPECT_TRUE(made->send(bytes(frame), frame.size()));
  };
  const auto brings = [this](const std::string& data) {
    return comes(*made, got, [&](const auto& f) { return f.find(data) != std::string::npos; });
  };
  send(question(guest, gateway));
  EXPECT_TRUE(comes(*made, got, [](const auto& f) { return answers(f, gateway); }));
  send(datagram(69, "\0\1boot\0octet\0"s));
  EXPECT_TRUE(brings("\0\3\0\1a small file"s)) << "TFTP";
  const host_socket datagrams(SOCK_DGRAM);
  send(datagram(datagrams.port(), "from the guest"));
  ASSERT_TRUE(datagrams.becomes_readable());
  sockaddr_in sender{};
  socklen_t length = sizeof sender;
  char text[64];
  EXPECT_EQ(14, recvfrom(datagrams.own.get(), text, sizeof text, 0,
                         reinterpret_cast<sockaddr*>(&sender), &length));
  EXPECT_EQ(13, sendto(datagrams.own.get(), "from the host", 13, 0,
                       reinterpret_cast<const sockaddr*>(&sender), length));
  EXPECT_TRUE(brings("from the host")) << "UDP";
  const host_socket connections(SOCK_STREAM);
  ASSERT_EQ(0, listen(connections.own.get(), 1));
  send(opening(connections.port()));
  EXPECT_TRUE(connections.becomes_readable()) << "TCP";
}

TEST_F(user_wires, one_that_is_not_closed) {
  made = make_wire("user", why, closed_process::mode::off);
  ASSERT_NE(nullptr, made) << why;
  EXPECT_EQ("0", status("Seccomp"));
}

TEST_F(user_wires, one_whose_process_is_killed_says_so_and_takes_frames) {
  made = make_wire("user", why);
  ASSERT_NE(nullptr, made) << why;
  ASSERT_GT(process(), 0);
  kill(process(), SIGKILL);
  for (int i = 0; i < 100 && made->connected(); ++i) turn(*made, got);
  EXPECT_FALSE(made->connected());
  EXPECT_STREQ("gone", made->state_name());
  ASSERT_EQ(1u, got.complaints.size());
  EXPECT_NE(std::string::npos, got.complaints[0].find("has ended"));
  EXPECT_TRUE(made->send(bytes("lost"), 4));
  turn(*made, got);
}

TEST_F(user_wires, one_that_does_not_end_by_itself_is_ended) {
  made = make_wire("user", why);
  ASSERT_NE(nullptr, made) << why;
  kill(process(), SIGSTOP);
}

TEST_F(user_wires, what_is_no_user_network) {
  made = make_wire("user:hostfwd=tcp:127.0.0.1:47116-:22", why);
  ASSERT_NE(nullptr, made) << why;
  for (const auto& [text, said] : {std::pair{"user:", ""},
                                   {"user:net=10.0.0.0", "net=10.0.0.0"},
                                   {"user:tftp=", "tftp=FOLDER"},
                                   {"user:hostfwd=tcp::0-:22", "hostfwd=tcp:ADDRESS:PORT"},
                                   {"user:hostfwd=sctp::47117-:22", "hostfwd=tcp:ADDRESS:PORT"},
                                   {"user:hostfwd=tcp::47117", "hostfwd=tcp:ADDRESS:PORT"},
                                   {"user:hostfwd=tcp:host:47117-:22", "hostfwd=tcp:ADDRESS"},
                                   {"user:hostfwd=tcp::65536-:22", "hostfwd=tcp:ADDRESS"},
                                   {"user:hostfwd=tcp:127.0.0.1:47116-:22", "port 47116"}}) {
    why.clear();
    const auto other = make_wire(text, why);
    EXPECT_EQ(*said == 0, other != nullptr) << text << ": " << why;
    EXPECT_NE(std::string::npos, why.find(said)) << text << ": " << why;
  }
}

// ---- A tap device, in a network namespace that goes with its process

constexpr int no_namespace = 77;

struct interface {
  explicit interface(const char* name) { std::strcpy(request.ifr_name, name); }
  bool set_address(std::uint32_t address) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(address);
    std::memcpy(&request.ifr_addr, &own, sizeof own);
    return ioctl(control.get(), SIOCSIFADDR, &request) == 0;
  }
  bool set_up(bool up) {
    request.ifr_flags = static_cast<short>(up ? IFF_UP : 0);
    return ioctl(control.get(), SIOCSIFFLAGS, &request) == 0;
  }
  descriptor control{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq request{};
};

// The host's kernel answers for its address while the device is up.
int use_tap() {
  std::string why;
  kept got;
  const auto w = make_wire("tap:ifname=freehca0", why);
  if (w == nullptr) return std::fprintf(stderr, "%s\n", why.c_str()), 1;
  const std::string host = "\x0a\x09\x00\x01"s, asks = question("\x0a\x09\x00\x02"s, host);
  if (!w->send(bytes(asks), asks.size())) return 2;  // it is down: lost
  interface device("freehca0");
  if (!device.set_address(0x0a090001) || !device.set_up(true)) return 3;
  if (!w->send(bytes(asks), asks.size())) return 4;
  if (!comes(*w, got, [&](const auto& f) { return answers(f, host); })) return 5;
  if (!device.set_up(false)) return 6;
  for (int i = 0; i < 5; ++i) turn(*w, got);
  if (!w->connected() || !got.complaints.empty()) return 7;
  got.all.clear();
  if (!device.set_up(true) || !w->send(bytes(asks), asks.size())) return 8;
  if (!comes(*w, got, [&](const auto& f) { return answers(f, host); })) return 9;
  if (make_wire("tap:ifname=freehca0", why) != nullptr) return 10;
  return why.find("another program has the device") != std::string::npos ? 0 : 11;
}

// What the last user of a device that stays took on, a frame without its checksum, is not asked of
// this one.
int use_tap_of_another() {
  {
    const descriptor other(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
    ifreq request{};
    std::strcpy(request.ifr_name, "freehca1");
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(other.get(), TUNSETIFF, &request) != 0 || ioctl(other.get(), TUNSETPERSIST, 1) != 0 ||
        ioctl(other.get(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0)
      return 1;
  }
  std::string why;
  const auto w = make_wire("tap:ifname=freehca1", why);
  if (w == nullptr) return std::fprintf(stderr, "%s\n", why.c_str()), 2;
  interface device("freehca1");
  ethtool_value asked{ETHTOOL_GTXCSUM, 1};
  device.request.ifr_data = reinterpret_cast<char*>(&asked);
  if (ioctl(device.control.get(), SIOCETHTOOL, &device.request) != 0) return 3;
  return asked.data == 0 ? 0 : 4;
}

// The status of use() in a process of its own.
int in_a_namespace(int (*use)()) {
  const pid_t child = fork();
  if (child == 0)
    _exit(unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? use()
                                                                                   : no_namespace);
  int how = 0;
  return waitpid(child, &how, 0) == child && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

struct tap_wires : ::testing::TestWithParam<int (*)()> {};

TEST_P(tap_wires, is_used) {
  const int step = in_a_namespace(GetParam());
  if (step == no_namespace) GTEST_SKIP() << "no network namespace is to be had here";
  EXPECT_EQ(0, step) << "which step failed";
}
INSTANTIATE_TEST_SUITE_P(each, tap_wires, testing::Values(use_tap, use_tap_of_another));

TEST(tap_texts, what_is_no_tap_device) {
  for (const std::string text : {"tap:", "tap:ifname=", "tap:name=a", "tap:ifname=a/b",
                                 "tap:ifname=a,script=b", "tap:ifname=sixteen_bytes_is"}) {
    std::string why;
    EXPECT_EQ(nullptr, make_wire(text, why)) << text;
    EXPECT_NE(std::string::npos, why.find("tap:ifname=NAME")) << why;
  }
}

}  // namespace
}  // namespace freehca::wires
