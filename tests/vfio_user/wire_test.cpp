// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The ways out of a port: what stands on the socket, and what becomes of a peer that is slow, gone
// or mad.
#include <freehca/wires/wire.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <freehca/wires/datagram_wire.hpp>
#include <freehca/wires/guid_text.hpp>
#include <freehca/wires/stream_wire.hpp>

#include "kept_frames.hpp"
#include "served_program.hpp"

namespace freehca::wires {
namespace {

using vfio_user::descriptor;
using vfio_user::folder;

std::string prefixed(const std::string& text) {
  const auto n = static_cast<std::uint32_t>(text.size());
  std::string all;
  for (unsigned i = 0; i < 4; ++i) all += static_cast<char>(n >> (8 * (3 - i)));
  return all + text;
}

struct wires : ::testing::Test {
  descriptor peer() const {
    descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    EXPECT_EQ(0, connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return made;
  }
  static std::string read_all(const descriptor& from) {
    std::string all(1 << 20, 0);
    const ssize_t n = recv(from.get(), all.data(), all.size(), MSG_DONTWAIT);
    all.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return all;
  }

  folder files;
  std::string path = files.path("wire"), why;
  kept got;
};

TEST_F(wires, a_stream_has_the_length_before_each_frame) {
  const auto w = make_wire("stream:listen=" + path, why);
  ASSERT_NE(nullptr, w) << why;
  EXPECT_TRUE(w->send(bytes("lost"), 4)) << "nobody is there: it is lost, and holds nothing up";
  const descriptor other = peer();
  turn(*w, got);
  EXPECT_TRUE(w->send(bytes("packet"), 6));
  EXPECT_TRUE(w->send(bytes("x"), 1));
  EXPECT_EQ(prefixed("packet") + prefixed("x"), read_all(other));
  const std::string sent = prefixed("one") + prefixed("") + prefixed(std::string(60000, 'y'));
  for (std::size_t at = 0; at < sent.size();) {
    const std::size_t n = std::min<std::size_t>(at < 16 ? 1 : 7000, sent.size() - at);
    ASSERT_EQ(static_cast<ssize_t>(n), ::send(other.get(), sent.data() + at, n, 0));
    at += n;
    turn(*w, got);
  }
  ASSERT_EQ(3u, got.all.size());
  EXPECT_EQ("one", got.all[0]);
  EXPECT_EQ("", got.all[1]);
  EXPECT_EQ(std::string(60000, 'y'), got.all[2]);
}

TEST_F(wires, a_stream_that_is_not_read_holds_the_sender_up_and_loses_nothing) {
  const auto w = make_wire("stream:listen=" + path, why);
  const descriptor other = peer();
  turn(*w, got);
  const std::string frame(4096, 'z');
  std::size_t taken = 0;
  while (w->send(bytes(frame), frame.size())) ++taken;
  EXPECT_GE(taken, stream_wire::most_waiting);
  EXPECT_FALSE(w->idle());
  std::size_t arrived = 0;
  for (int i = 0; i < 10000 && arrived < taken * (frame.size() + 4); ++i) {
    arrived += read_all(other).size();
    turn(*w, got, false);
  }
  EXPECT_EQ(taken * (frame.size() + 4), arrived);
  EXPECT_TRUE(w->idle());
}

// The other end sees one stream of bytes, whichever process sends them.
TEST_F(wires, a_stream_is_handed_over_in_the_middle_of_packets) {
  const std::string text = "stream:listen=" + path;
  auto w = make_wire(text, why);
  const descriptor other = peer();
  turn(*w, got);
  const std::string frame(4096, 'z');
  std::size_t taken = 0;
  while (w->send(bytes(frame), frame.size())) ++taken;
  const std::string sent = prefixed("one") + prefixed("two");
  ASSERT_EQ(9, ::send(other.get(), sent.data(), 9, 0));
  turn(*w, got, true);
  handed_wire state;
  ASSERT_TRUE(w->hand_over(state));
  EXPECT_FALSE(state.waiting.empty());
  EXPECT_EQ(2u, state.arrived.size());
  const auto old = std::move(w);  // a process that hands over runs no destructor
  w = adopt_wire(text, std::move(state), why);
  ASSERT_NE(nullptr, w) << why;
  EXPECT_TRUE(w->connected());
  ASSERT_EQ(5, ::send(other.get(), sent.data() + 9, 5, 0));
  std::string arrived;
  for (int i = 0; i < 10000 && arrived.size() < taken * (frame.size() + 4); ++i) {
    arrived += read_all(other);
    turn(*w, got);
  }
  std::string expected;
  for (std::size_t i = 0; i < taken; ++i) expected += prefixed(frame);
  EXPECT_TRUE(arrived == expected);
  EXPECT_EQ((std::vector<std::string>{"one", "two"}), got.all);
  w = nullptr;
  EXPECT_NE(0, access(path.c_str(), F_OK)) << "the last process removes the path";
}

TEST_F(wires, a_caller_and_datagrams_are_handed_over) {
  const std::string caller = "stream:connect=" + path;
  const auto listener = make_wire("stream:listen=" + path, why);
  auto w = make_wire(caller, why);
  turn(*w, got);
  turn(*listener, got);
  handed_wire state;
  ASSERT_TRUE(w->hand_over(state));
  const auto old_caller = std::move(w);
  w = adopt_wire(caller, std::move(state), why);
  ASSERT_NE(nullptr, w) << why;
  EXPECT_TRUE(w->send(bytes("packet"), 6));
  turn(*listener, got);
  const std::string a = files.path("a"), b = files.path("b");
  const std::string first = "dgram:local=" + a + ",remote=" + b;
  const auto second = make_wire("dgram:local=" + b + ",remote=" + a, why);
  w = make_wire(first, why);
  ASSERT_NE(nullptr, w) << why;
  state = {};
  ASSERT_TRUE(w->hand_over(state));
  const auto old_datagrams = std::move(w);
  w = adopt_wire(first, std::move(state), why);
  ASSERT_NE(nullptr, w) << why;
  EXPECT_TRUE(w->send(bytes("datagram"), 8));
  turn(*second, got);
  EXPECT_EQ((std::vector<std::string>{"packet", "datagram"}), got.all);
}

TEST_F(wires, what_is_no_state_of_the_wire_is_refused) {
  const auto expect = [this](const std::string& text, handed_wire state, const char* words) {
    EXPECT_EQ(nullptr, adopt_wire(text, std::move(state), why));
    EXPECT_NE(std::string::npos, why.find(words)) << why;
  };
  expect("none", {}, "there is no such wire");
  expect("stream:listen=" + path, {}, "no state of a listener");
  handed_wire wrong;
  wrong.stage = 4;
  expect("stream:connect=" + path, std::move(wrong), "no state of a caller");
  expect("dgram:local=" + path + ",remote=" + path, {}, "no state of datagrams");
  wrong = {};
  wrong.waiting.resize(2);
  expect("tap:ifname=tap0", std::move(wrong), "no state of frames");
}

TEST_F(wires, peers_come_one_after_another) {
  const auto w = make_wire("stream:listen=" + path, why);
  for (const std::string text : {"first", "second"}) {
    descriptor other = peer();
    turn(*w, got);
    const std::string half = prefixed("cut").substr(0, 5);
    ::send(other.get(), prefixed(text).data(), text.size() + 4, 0);
    ::send(other.get(), half.data(), half.size(), 0);
    turn(*w, got);
    other.close();
    turn(*w, got);
    turn(*w, got);
  }
  EXPECT_EQ((std::vector<std::string>{"first", "second"}), got.all);
}

TEST_F(wires, a_frame_that_is_longer_than_any_ends_the_connection) {
  const auto w = make_wire("stream:listen=" + path, why);
  const descriptor other = peer();
  turn(*w, got);
  ::send(other.get(), "\xff\xff\xff\xff", 4, 0);
  turn(*w, got);
  char byte;
  EXPECT_EQ(0, recv(other.get(), &byte, 1, MSG_DONTWAIT)) << "hung up";
  EXPECT_TRUE(got.all.empty());
  ASSERT_EQ(1u, got.complaints.size());
  EXPECT_NE(std::string::npos, got.complaints[0].find("4294967295 bytes"));
}

TEST_F(wires, a_wire_says_whether_somebody_is_there) {
  const auto w = make_wire("stream:listen=" + path, why);
  EXPECT_FALSE(w->connected());
  {
    const descriptor other = peer();
    turn(*w, got);
    EXPECT_TRUE(w->connected());
  }
  turn(*w, got);
  EXPECT_FALSE(w->connected());
}

TEST_F(wires, a_wire_may_be_given_its_connection) {
  descriptor listener;
  std::string bound;
  ASSERT_EQ("", listen_at(path, 1, listener, bound));
  EXPECT_EQ(path, bound);
  const auto w = stream_wire::to_be_given();
  EXPECT_FALSE(w->connected());
  EXPECT_EQ(-1, w->descriptor());
  EXPECT_EQ(~std::uint64_t{0}, w->deadline()) << "it calls nobody";
  for (const std::string text : {"first", "second"}) {
    const descriptor other = peer();
    w->take(descriptor(accept(listener.get(), nullptr, nullptr)), 0);
    EXPECT_TRUE(w->connected());
    ::send(other.get(), prefixed(text).data(), text.size() + 4, 0);
    turn(*w, got);
    shutdown(other.get(), SHUT_RDWR);
    turn(*w, got);
    EXPECT_FALSE(w->connected());
  }
  EXPECT_EQ((std::vector<std::string>{"first", "second"}), got.all);
  unlink(path.c_str());
}

TEST(guid_texts, what_is_one_and_what_is_none) {
  for (const std::string text : {"0x0002c90300f0ca00", "0002:c903:00f0:ca00", "0002c90300f0ca00"})
    EXPECT_EQ(0x0002c90300f0ca00u, guid_of(text)) << text;
  for (const std::string text : {"", "12", "0x0", "0000000000000000", "0002c90300f0ca0g",
                                 "0x0002c90300f0ca001", "000:2c903:00f0:ca00"})
    EXPECT_EQ(std::nullopt, guid_of(text)) << text;
}

TEST_F(wires, who_connects_tries_until_somebody_listens) {
  const auto caller = make_wire("stream:connect=" + path, why);
  ASSERT_NE(nullptr, caller) << why;
  turn(*caller, got);
  EXPECT_TRUE(caller->send(bytes("lost"), 4));
  auto listener = make_wire("stream:listen=" + path, why);
  kept heard;
  for (int again = 0; again < 2; ++again) {
    for (int i = 0; i < 4; ++i) turn(*caller, got), turn(*listener, heard);
    EXPECT_TRUE(caller->send(bytes("hello"), 5));
    turn(*listener, heard);
    ASSERT_EQ(1u, heard.all.size());
    heard.all.clear();
    listener.reset();
    EXPECT_NE(0, access(path.c_str(), F_OK)) << "its socket goes with it";
    listener = make_wire("stream:listen=" + path, why);
    ASSERT_NE(nullptr, listener) << why;
  }
}

TEST_F(wires, streams_of_tcp) {
  const auto listener = make_wire("stream:listen=127.0.0.1:47113", why);
  ASSERT_NE(nullptr, listener) << why;
  const auto caller = make_wire("stream:connect=localhost:47113", why);
  ASSERT_NE(nullptr, caller) << why;
  kept heard;
  for (int i = 0; i < 6; ++i) turn(*caller, got), turn(*listener, heard);
  EXPECT_TRUE(listener->send(bytes("hello"), 5));
  for (int i = 0; i < 10 && got.all.empty(); ++i) turn(*caller, got);
  EXPECT_EQ(std::vector<std::string>{"hello"}, got.all);
}

// Nobody listens at the first address of "localhost" when that is ::1 and the listener's is IPv4.
TEST_F(wires, streams_try_each_address_of_a_host) {
  const auto listener = make_wire("stream:listen=127.0.0.1:47113", why);
  ASSERT_NE(nullptr, listener) << why;
  std::vector<socket_address> addresses(3);
  ASSERT_EQ("", read_address("127.0.0.1:47114", SOCK_STREAM, addresses[0]));
  ASSERT_EQ("", read_address("127.0.0.2:47114", SOCK_STREAM, addresses[1]));
  ASSERT_EQ("", read_address("127.0.0.1:47113", SOCK_STREAM, addresses[2]));
  const auto caller = stream_wire::connect(addresses);
  kept heard;
  for (int i = 0; i < 10 && !caller->connected(); ++i) turn(*caller, got), turn(*listener, heard);
  ASSERT_TRUE(caller->connected());
  EXPECT_TRUE(caller->send(bytes("hello"), 5));
  for (int i = 0; i < 10 && heard.all.empty(); ++i) turn(*listener, heard);
  EXPECT_EQ(std::vector<std::string>{"hello"}, heard.all);
}

// Two ends with a file each; each has the name of its file.
struct wires_with_secrets : wires {
  std::string secret(const std::string& name, const std::string& text) {
    const std::string file = files.path(name);
    std::ofstream(file) << text << '\n';
    EXPECT_EQ(0, chmod(file.c_str(), 0600));
    return ",secret=" + file + ",name=" + name;
  }
  // Works both ends, to which no time passes, until they have had each its turn to say all.
  void greet(wire& one, wire& other) {
    for (int i = 0; i < 8; ++i)
      for (auto [w, to] : {std::pair(&one, &got), std::pair(&other, &heard)}) {
        pollfd p{w->descriptor(), w->events(true), 0};
        poll(&p, 1, 20);
        w->work(p.revents, now, *to);
      }
  }
  std::unique_ptr<wire> make(const std::string& text) {
    auto made = make_wire(text, why);
    EXPECT_NE(nullptr, made) << why;
    return made;
  }
  std::string tcp = "127.0.0.1:47115";
  std::string first = secret("first", "the secret of both ends"),
              second = secret("second", "the secret of both ends"),
              third = secret("third", "the secret of neither end");
  kept heard;
  std::uint64_t now = 1;
};

// Before the proof the connection is not handed over, and the caller begins again.
TEST_F(wires_with_secrets, a_wire_is_handed_over_before_and_behind_the_proof) {
  const std::string text = "stream:listen=" + tcp + first;
  auto listener = make(text);
  const auto caller = make("stream:connect=" + tcp + second);
  std::vector<std::unique_ptr<wire>> old;  // a process that hands over runs no destructor
  for (const char* packet : {"one", "two"}) {
    const bool proved = caller->connected();
    if (!proved) turn(*caller, got), turn(*listener, heard);
    handed_wire state;
    ASSERT_TRUE(listener->hand_over(state));
    EXPECT_EQ(proved, state.connection.open());
    if (proved) old.push_back(std::move(listener));
    listener = nullptr;
    listener = adopt_wire(text, std::move(state), why);
    ASSERT_NE(nullptr, listener) << why;
    for (int i = 0; i < 3 && !caller->connected(); ++i) {
      greet(*caller, *listener);
      now += 1'000'000'000;
    }
    ASSERT_TRUE(caller->connected());
    EXPECT_TRUE(caller->send(bytes(packet), 3));
    greet(*caller, *listener);
  }
  EXPECT_EQ((std::vector<std::string>{"one", "two"}), heard.all);
}

TEST_F(wires_with_secrets, packets_pass_when_both_ends_have_proved_it) {
  const auto listener = make("stream:listen=" + tcp + first);
  const auto caller = make("stream:connect=" + tcp + second);
  EXPECT_EQ("", listener->warning());
  EXPECT_TRUE(listener->send(bytes("lost"), 4));
  greet(*caller, *listener);
  ASSERT_TRUE(caller->connected());
  ASSERT_TRUE(listener->connected());
  EXPECT_TRUE(caller->send(bytes("there"), 5));
  EXPECT_TRUE(listener->send(bytes("back"), 4));
  greet(*caller, *listener);
  EXPECT_EQ(std::vector<std::string>{"back"}, got.all);
  EXPECT_EQ(std::vector<std::string>{"there"}, heard.all);
  EXPECT_TRUE(got.complaints.empty() && heard.complaints.empty());
}

TEST_F(wires_with_secrets, a_wire_that_has_refused_one_peer_takes_the_next) {
  const auto listener = make("stream:listen=" + tcp + first);
  const auto wrong = make("stream:connect=" + tcp + third);
  greet(*wrong, *listener);
  EXPECT_FALSE(listener->connected());
  ASSERT_EQ(1u, heard.complaints.size());
  EXPECT_EQ("refused: \"third\" has another secret, or repeats an old hello", heard.complaints[0]);
  ASSERT_EQ(1u, got.complaints.size());
  EXPECT_NE(std::string::npos, got.complaints[0].find("hung up during the hello"));
  EXPECT_EQ(now + 1'000'000'000, wrong->deadline()) << "it calls again, but not at once";
  const auto without = make("stream:connect=" + tcp + ",name=bare");
  greet(*without, *listener);
  ASSERT_EQ(2u, heard.complaints.size());
  EXPECT_EQ("refused: \"bare\" has no secret, and this end wants a proof", heard.complaints[1]);
  const auto right = make("stream:connect=" + tcp + second);
  greet(*right, *listener);
  EXPECT_TRUE(listener->connected());
  EXPECT_TRUE(right->connected());
}

TEST_F(wires_with_secrets, a_silent_peer_a_peer_of_qemu_and_a_replay_are_refused) {
  const auto listener = make("stream:listen=" + path + first);
  const auto turn_at = [&](std::uint64_t at) {
    pollfd p{listener->descriptor(), listener->events(true), 0};
    poll(&p, 1, 20);
    listener->work(p.revents, at, heard);
  };
  {
    const descriptor silent = peer();
    turn_at(1);
    EXPECT_STREQ("greeting", listener->state_name());
    EXPECT_EQ(1 + hello::silence_ns, listener->deadline());
    turn_at(1 + hello::silence_ns);
    ASSERT_EQ(1u, heard.complaints.size());
    EXPECT_EQ("refused: the other end sent no hello for 5 s", heard.complaints[0]);
    EXPECT_STREQ("listening", listener->state_name());
  }
  {
    const descriptor qemu = peer();
    turn_at(1);
    ::send(qemu.get(), prefixed("packet").data(), 10, 0);
    turn_at(1);
    ASSERT_EQ(2u, heard.complaints.size());
    EXPECT_NE(std::string::npos, heard.complaints[1].find("a frame that is no hello"));
  }
  EXPECT_TRUE(heard.all.empty());
  // A machine in the middle records a hello that is good, and repeats it.
  std::string recorded;
  for (int again = 0; again < 2; ++again) {
    const std::string other_path = files.path("middle");
    descriptor middle;
    std::string bound;
    ASSERT_EQ("", listen_at(other_path, 1, middle, bound));
    const auto caller = make("stream:connect=" + other_path + second);
    turn(*caller, got);
    const descriptor to_caller(accept(middle.get(), nullptr, nullptr));
    const descriptor to_listener = peer();
    turn_at(1);
    for (int i = 0; i < 6; ++i) {
      const std::string from_listener = read_all(to_listener);
      if (again == 0) ::send(to_caller.get(), from_listener.data(), from_listener.size(), 0);
      turn(*caller, got);
      const std::string from_caller =
          again == 0 ? read_all(to_caller) : std::exchange(recorded, "");
      ::send(to_listener.get(), from_caller.data(), from_caller.size(), MSG_NOSIGNAL);
      if (again == 0) recorded += from_caller;
      turn_at(1);
    }
    EXPECT_EQ(again == 0, listener->connected());
    unlink(other_path.c_str());
    if (again == 0) {
      EXPECT_EQ(264u, recorded.size());
    }
    shutdown(to_listener.get(), SHUT_RDWR);
    turn_at(1);
    EXPECT_FALSE(listener->connected());
  }
  ASSERT_EQ(3u, heard.complaints.size());
  EXPECT_NE(std::string::npos, heard.complaints[2].find("repeats an old hello"));
}

TEST_F(wires_with_secrets, refusals_are_reported_for_a_while_only) {
  const auto listener = make("stream:listen=" + path + first);
  for (int i = 0; i < 40; ++i) {
    const descriptor other = peer();
    turn(*listener, heard);
    ::send(other.get(), prefixed("packet").data(), 10, 0);
    turn(*listener, heard);
  }
  ASSERT_EQ(32u, heard.complaints.size());
  EXPECT_NE(std::string::npos, heard.complaints[31].find("more refusals are not reported"));
}

TEST_F(wires, a_name_is_one_frame_and_a_wire_without_one_sends_nothing_of_its_own) {
  const auto named = make_wire("stream:listen=" + path + ",name=left", why);
  ASSERT_NE(nullptr, named) << why;
  {
    const descriptor other = peer();
    turn(*named, got);
    EXPECT_TRUE(named->connected());
    const std::string sent = read_all(other);
    ASSERT_EQ(132u, sent.size());
    EXPECT_EQ(std::string("\0\0\0\x80\x01\x80\xc2\0\0\x0f", 10), sent.substr(0, 10))
        << "an Ethernet frame that no bridge forwards";
    EXPECT_EQ(std::string("\0\0\0\0\0\0\x88\xb5", 8), sent.substr(10, 8));
  }
  turn(*named, got);
  const auto caller = make_wire("stream:connect=" + path, why);
  kept heard;
  for (int i = 0; i < 4; ++i) turn(*caller, heard), turn(*named, got);
  EXPECT_TRUE(named->send(bytes("packet"), 6));
  EXPECT_TRUE(caller->send(bytes("answer"), 6));
  for (int i = 0; i < 4; ++i) turn(*caller, heard), turn(*named, got);
  EXPECT_EQ(std::vector<std::string>{"packet"}, heard.all) << "the name is no packet";
  EXPECT_EQ(std::vector<std::string>{"answer"}, got.all);
}

TEST_F(wires, tcp_without_a_secret_says_so) {
  const auto warning = [this](const std::string& text) {
    const auto made = make_wire(text, why);
    EXPECT_NE(nullptr, made) << why;
    return made != nullptr ? made->warning() : "";
  };
  EXPECT_NE(std::string::npos,
            warning("stream:listen=127.0.0.1:47116").find("reaches 127.0.0.1:47116"));
  EXPECT_NE(std::string::npos, warning("stream:connect=127.0.0.1:47116,name=left")
                                   .find("listens at 127.0.0.1:47116 becomes the peer"));
  EXPECT_EQ("", warning("stream:listen=127.0.0.1:47116,secret=none"));
  EXPECT_EQ("", warning("stream:connect=127.0.0.1:47116,secret=none"));
  EXPECT_EQ("", warning("stream:listen=" + path));
}

TEST_F(wires, datagrams_are_frames) {
  const std::string other = files.path("other");
  const auto a = make_wire("dgram:local=" + path + ",remote=" + other, why);
  ASSERT_NE(nullptr, a) << why;
  EXPECT_TRUE(a->send(bytes("lost"), 4)) << "nobody is there";
  const auto b = make_wire("dgram:local=" + other + ",remote=" + path, why);
  ASSERT_NE(nullptr, b) << why;
  EXPECT_TRUE(a->send(bytes("one"), 3));
  EXPECT_TRUE(a->send(bytes("two"), 3));
  turn(*b, got);
  EXPECT_EQ((std::vector<std::string>{"one", "two"}), got.all);
}

TEST_F(wires, datagrams_that_find_no_room_wait) {
  const std::string other = files.path("other");
  const auto a = make_wire("dgram:local=" + path + ",remote=" + other, why);
  const auto b = make_wire("dgram:local=" + other + ",remote=" + path, why);
  std::size_t taken = 0;
  while (a->send(bytes("frame"), 5) && taken < 100000) ++taken;
  EXPECT_LT(taken, 100000u);
  EXPECT_FALSE(a->idle());
  kept none;
  for (int i = 0; i < 100 && (got.all.size() < taken || !a->idle()); ++i)
    turn(*b, got), turn(*a, none, false);
  EXPECT_EQ(taken, got.all.size());
  EXPECT_TRUE(a->idle());
}

TEST_F(wires, what_is_no_wire) {
  for (const std::string text :
       {"stream", "stream:listen", "dgram:local=a/b", "tap", "stream:listen=nowhere",
        "stream:listen=/no/such/folder/wire", "dgram:local=/no/such/folder/a,remote=/b",
        "dgram:local=127.0.0.1:0,remote=/b", "dgram:local=/a,remote=/b,secret=none",
        "dgram:local=/a,name=left,remote=/b", "stream:listen=127.0.0.1:47113,secret=/no/such/file",
        "stream:listen=127.0.0.1:47113,nmae=left"}) {
    why.clear();
    EXPECT_EQ(nullptr, make_wire(text, why)) << text;
    EXPECT_FALSE(why.empty()) << text;
  }
}

}  // namespace
}  // namespace freehca::wires
