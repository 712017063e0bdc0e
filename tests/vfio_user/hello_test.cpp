// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The hello of a stream wire: two ends without sockets, under a clock of the test's; and what a
// hostile end can send.
#include <freehca/wires/hello.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "started_program.hpp"

namespace freehca::wires {
namespace {

using octets = std::vector<std::byte>;
constexpr std::size_t frame_on_stream = 4 + hello::frame_bytes;

octets octets_of(const std::string& text) {
  const auto* const from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

hello_options with(const std::string& secret, const std::string& name = "") {
  hello_options all;
  all.secret = octets_of(secret);
  all.name = name;
  return all;
}

hello::nonce nonce_of(unsigned seed) {
  hello::nonce all;
  all.fill(static_cast<std::byte>(seed));
  return all;
}

// As the frames stand on the stream.
octets sent_by(hello& from) {
  octets all;
  for (const hello::frame& one : from.take_frames()) {
    for (unsigned i = 0; i < 4; ++i)
      all.push_back(static_cast<std::byte>(one.size() >> 8 * (3 - i)));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// Hands the bytes over as a wire does. Returns those that are not of the hello.
octets hand(const octets& bytes, hello& to) {
  octets rest = bytes;
  while (to.examines()) {
    const std::size_t n = to.arrived(rest);
    if (n == 0) break;
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return rest;
}

constexpr const char* good = "a secret of 26 bytes, good";

struct pair_of_ends {
  hello caller, listener;
  pair_of_ends(const hello_options& a, const hello_options& b, unsigned seed = 1)
      : caller(a, hello_role::caller, nonce_of(seed), 0),
        listener(b, hello_role::listener, nonce_of(seed + 100), 0) {}
  void run() {
    for (int i = 0; i < 3; ++i) {
      hand(sent_by(caller), listener);
      hand(sent_by(listener), caller);
    }
  }
};

TEST(hello, two_ends_with_the_same_secret_open_and_know_the_names) {
  pair_of_ends ends(with(good, "left"), with(good, "right"));
  EXPECT_FALSE(ends.caller.open());
  EXPECT_FALSE(ends.listener.open());
  EXPECT_EQ(hello::silence_ns, ends.caller.deadline());
  ends.run();
  EXPECT_TRUE(ends.caller.open()) << ends.caller.refusal();
  EXPECT_TRUE(ends.listener.open()) << ends.listener.refusal();
  EXPECT_EQ("right", ends.caller.peer_name());
  EXPECT_EQ("left", ends.listener.peer_name());
  EXPECT_EQ(hello::never, ends.caller.deadline());
  EXPECT_FALSE(ends.caller.examines());
}

TEST(hello, the_listener_proves_nothing_before_the_caller_has) {
  pair_of_ends ends(with(good), with(good));
  const octets greeting = sent_by(ends.caller);
  EXPECT_EQ(frame_on_stream, greeting.size());
  EXPECT_EQ(frame_on_stream, sent_by(ends.listener).size());
  hand(greeting, ends.listener);
  EXPECT_TRUE(sent_by(ends.listener).empty());
}

TEST(hello, bytes_may_come_one_by_one_and_what_follows_is_left_alone) {
  pair_of_ends ends(with(good, "left"), with(good));
  hand(sent_by(ends.listener), ends.caller);
  octets all = sent_by(ends.caller);
  ASSERT_EQ(2 * frame_on_stream, all.size());
  const octets packet = octets_of(std::string("\0\0\0\5right", 9));
  all.insert(all.end(), packet.begin(), packet.end());
  octets arrived;
  for (const std::byte b : all) {
    arrived.push_back(b);
    arrived = hand(arrived, ends.listener);
  }
  EXPECT_TRUE(ends.listener.open()) << ends.listener.refusal();
  EXPECT_EQ(packet, arrived);
}

TEST(hello, another_secret_is_refused_by_name) {
  pair_of_ends ends(with("another secret, as long...", "left"), with(good));
  ends.run();
  EXPECT_EQ("\"left\" has another secret, or repeats an old hello", ends.listener.refusal());
  EXPECT_FALSE(ends.listener.open());
  EXPECT_FALSE(ends.caller.open());
  ends.caller.end();
  EXPECT_EQ("the other end hung up during the hello: it may have another secret, or none",
            ends.caller.refusal());
}

TEST(hello, a_listener_with_another_secret_is_refused_too) {
  hello caller(with(good), hello_role::caller, nonce_of(1), 0);
  hello listener(with(good), hello_role::listener, nonce_of(2), 0);
  hand(sent_by(listener), caller);
  hand(sent_by(caller), listener);
  octets proof = sent_by(listener);
  ASSERT_EQ(frame_on_stream, proof.size());
  proof[4 + 32] ^= std::byte{1};
  hand(proof, caller);
  EXPECT_NE(std::string::npos, caller.refusal().find("another secret"));
}

TEST(hello, a_replayed_hello_is_refused) {
  pair_of_ends first(with(good, "left"), with(good));
  octets recorded = sent_by(first.caller);
  hand(recorded, first.listener);
  hand(sent_by(first.listener), first.caller);
  const octets proof = sent_by(first.caller);
  recorded.insert(recorded.end(), proof.begin(), proof.end());
  hand(proof, first.listener);
  ASSERT_TRUE(first.listener.open());
  hello again(with(good), hello_role::listener, nonce_of(7), 0);
  hand(recorded, again);
  EXPECT_EQ("\"left\" has another secret, or repeats an old hello", again.refusal());
}

TEST(hello, what_comes_back_proves_nothing) {
  hello listener(with(good), hello_role::listener, nonce_of(1), 0);
  hand(sent_by(listener), listener);
  EXPECT_NE(std::string::npos, listener.refusal().find("in the role of this end"));
  // With the role exchanged it is a greeting. The proof is not.
  hello caller(with(good), hello_role::caller, nonce_of(1), 0);
  const auto turned = [](octets all) {
    for (std::size_t at = 0; at < all.size(); at += frame_on_stream)
      all[at + 4 + 29] ^= std::byte{3};
    return all;
  };
  hand(turned(sent_by(caller)), caller);
  hand(turned(sent_by(caller)), caller);
  EXPECT_NE(std::string::npos, caller.refusal().find("another secret"));
}

TEST(hello, a_name_that_was_changed_on_the_way_is_refused) {
  pair_of_ends ends(with(good, "left"), with(good));
  octets greeting = sent_by(ends.caller);
  greeting[4 + 64] = std::byte{'b'};
  hand(greeting, ends.listener);
  hand(sent_by(ends.listener), ends.caller);
  hand(sent_by(ends.caller), ends.listener);
  EXPECT_EQ("\"beft\" has another secret, or repeats an old hello", ends.listener.refusal());
}

TEST(hello, an_end_without_a_secret_is_refused_at_both_ends) {
  pair_of_ends ends(with("", "left"), with(good, "right"));
  ends.run();
  EXPECT_EQ("\"left\" has no secret, and this end wants a proof", ends.listener.refusal());
  EXPECT_EQ("\"right\" wants a proof, and this end has no secret", ends.caller.refusal());
}

TEST(hello, an_end_that_knows_no_hello_is_refused_with_its_first_bytes) {
  hello listener(with(good), hello_role::listener, nonce_of(1), 0);
  hand(octets_of(std::string("\0\0\0\6", 4)), listener);
  EXPECT_EQ("the other end sent a frame that is no hello, and this end wants a proof",
            listener.refusal());
}

TEST(hello, silence_is_refused_after_5_s_however_far_the_hello_has_come) {
  hello silent(with(good), hello_role::listener, nonce_of(1), 1000);
  silent.run(1000 + hello::silence_ns - 1);
  EXPECT_EQ("", silent.refusal());
  silent.run(1000 + hello::silence_ns);
  EXPECT_EQ("the other end sent no hello for 5 s", silent.refusal());
  pair_of_ends ends(with(good, "left"), with(good));
  hand(sent_by(ends.caller), ends.listener);
  EXPECT_EQ(hello::silence_ns, ends.listener.deadline()) << "a greeting does not prolong it";
  ends.listener.run(hello::silence_ns);
  EXPECT_EQ("\"left\" sent no proof for 5 s", ends.listener.refusal());
  EXPECT_FALSE(ends.listener.examines());
}

TEST(hello, without_a_secret_packets_pass_at_once_and_nothing_is_sent) {
  pair_of_ends ends(with(""), with(""));
  EXPECT_TRUE(ends.caller.open());
  EXPECT_TRUE(sent_by(ends.caller).empty());
  EXPECT_EQ(hello::never, ends.caller.deadline());
  for (const std::string& first : {std::string("\0\0\0\6packet", 10),
                                   std::string("\0\0\0\x80packet", 10), std::string(1, 'x')}) {
    hello end(with(""), hello_role::listener, nonce_of(1), 0);
    EXPECT_EQ(octets_of(first), hand(octets_of(first), end));
    EXPECT_FALSE(end.examines());
    EXPECT_TRUE(end.open());
  }
}

TEST(hello, without_a_secret_a_name_arrives_in_one_frame) {
  pair_of_ends ends(with("", "left"), with(""));
  ends.run();
  EXPECT_EQ("left", ends.listener.peer_name());
  EXPECT_EQ("", ends.caller.peer_name());
  EXPECT_TRUE(ends.listener.open());
  EXPECT_FALSE(ends.listener.examines());
}

TEST(hello, an_end_that_waits_for_a_name_does_so_for_a_moment_only) {
  hello_options waits = with("");
  waits.waits_for_name = true;
  hello named(waits, hello_role::listener, nonce_of(1), 0), other = named, silent = named;
  hello caller(with("", "left"), hello_role::caller, nonce_of(2), 0);
  const octets late = sent_by(caller);
  EXPECT_FALSE(named.open());
  hand(late, named);
  EXPECT_TRUE(named.open());
  hand(octets_of("packet"), other);
  EXPECT_TRUE(other.open());
  silent.run(hello::first_frame_ns - 1);
  EXPECT_FALSE(silent.open());
  silent.run(hello::first_frame_ns);
  EXPECT_TRUE(silent.open());
  EXPECT_TRUE(hand(late, silent).empty()) << "a late hello is no packet either";
}

TEST(hello, an_end_that_needs_a_name_waits_for_it) {
  hello_options needs = with("");
  needs.needs_name = true;
  hello named(needs, hello_role::listener, nonce_of(1), 0), other = named;
  named.run(~std::uint64_t{0} - 1);
  EXPECT_FALSE(named.open());
  EXPECT_EQ(named.refusal(), "");
  hello caller(with("", "left"), hello_role::caller, nonce_of(2), 0);
  hand(sent_by(caller), named);
  EXPECT_TRUE(named.open());
  hand(octets_of("packet"), other);
  EXPECT_FALSE(other.open());
  EXPECT_NE(other.refusal().find("name=NAME"), std::string::npos) << other.refusal();
}

TEST(hello, frames_that_are_wrong) {
  const auto refusal = [](unsigned at, unsigned value, const hello_options& options) {
    hello caller(with(options.secret.empty() ? "" : good, "left"), hello_role::caller, nonce_of(2),
                 0);
    octets frame = sent_by(caller);
    frame[4 + at] = static_cast<std::byte>(value);
    hello end(options, hello_role::listener, nonce_of(1), 0);
    hand(frame, end);
    return end.refusal();
  };
  for (const hello_options& options : {with(good), with("")}) {
    EXPECT_EQ("a hello whose frames are in the wrong order", refusal(28, 2, options));
    EXPECT_EQ("a hello whose frames are in the wrong order", refusal(28, 9, options));
    EXPECT_NE("", refusal(29, 2, options)) << "the role";
    EXPECT_EQ("a hello with unknown flags", refusal(30, 0x81, options));
    EXPECT_EQ("a hello with a name that is none", refusal(31, 64, options));
    EXPECT_EQ("a hello with a name that is none", refusal(31, 255, options));
    EXPECT_EQ("a hello with a name that is none", refusal(64, 0x1b, options));
  }
  EXPECT_EQ("a hello of version 2; this end has 1", refusal(27, 2, with(good)));
  EXPECT_EQ("", refusal(27, 2, with(""))) << "a later program's, which may say more";
}

// The same bytes in each run.
TEST(hello, bytes_of_chance_open_nothing) {
  std::mt19937 chance(1);
  for (int round = 0; round < 3000; ++round) {
    pair_of_ends ends(with(good, "left"), with(good, "right"));
    octets all = sent_by(ends.caller);
    hand(sent_by(ends.listener), ends.caller);
    const octets proof = sent_by(ends.caller);
    all.insert(all.end(), proof.begin(), proof.end());
    // Up to three bytes change. Then the frames are cut or doubled.
    const auto changes = 1 + chance() % 3;
    const octets before = all;
    for (auto i = changes; i > 0; --i)
      all[chance() % all.size()] = static_cast<std::byte>(chance());
    if (chance() % 4 == 0) all.resize(chance() % all.size());
    if (chance() % 8 == 0) all.insert(all.end(), before.begin(), before.end());
    const bool same =
        all.size() >= before.size() && std::equal(before.begin(), before.end(), all.begin());
    hand(all, ends.listener);
    ends.listener.run(hello::silence_ns);
    EXPECT_EQ(same, ends.listener.open()) << round;
    EXPECT_NE(ends.listener.open(), !ends.listener.refusal().empty()) << round;
  }
}

struct hello_option : ::testing::Test {
  std::string read(const std::string& text) { return read_hello_options(text, address, options); }
  std::string file(const std::string& text, mode_t mode = 0600) {
    std::string path = files.path("secret");
    std::ofstream(path) << text;
    EXPECT_EQ(0, chmod(path.c_str(), mode));
    return path;
  }
  vfio_user::folder files;
  std::string address;
  hello_options options;
};

TEST_F(hello_option, an_address_and_what_follows_it) {
  EXPECT_EQ("", read("/run/wire,with,commas"));
  EXPECT_EQ("/run/wire,with,commas", address);
  EXPECT_EQ("", options.name);
  EXPECT_EQ("", read("host:1,name=h-1.a_b:c,secret=none"));
  EXPECT_EQ("host:1", address);
  EXPECT_EQ("h-1.a_b:c", options.name);
  EXPECT_TRUE(options.without_secret);
  EXPECT_TRUE(options.secret.empty());
}

TEST_F(hello_option, a_secret_without_its_line_feed) {
  EXPECT_EQ("", read("host:1,secret=" + file("0123456789abcdef\n")));
  EXPECT_EQ(octets_of("0123456789abcdef"), options.secret);
}

TEST_F(hello_option, what_is_refused) {
  const auto refused = [this](const std::string& text, const std::string& words) {
    options = {};
    const std::string why = read(text);
    EXPECT_NE(std::string::npos, why.find(words)) << text << ": " << why;
    EXPECT_TRUE(options.secret.empty());
  };
  refused("host:1,secret=" + files.path("nothing"), "No such file");
  refused("host:1,secret=" + files.path(""), "not a regular file");
  refused("host:1,secret=" + file("0123456789abcdef", 0640), "chmod 600");
  refused("host:1,secret=" + file("0123456789abcde\n"), "a secret has 16 to 4096 bytes");
  refused("host:1,secret=" + file(std::string(4097, 'x')), "a secret has 16 to 4096 bytes");
  refused("host:1,secret=", "No such file");
  refused("host:1,name=", "a name has 1 to 63");
  refused("host:1,name=a b", "a name has 1 to 63");
  refused("host:1,name=" + std::string(64, 'x'), "a name has 1 to 63");
  refused("host:1,name=a,name=b", "twice");
  refused("host:1,secret=none,secret=none", "twice");
  refused("/run/wire,secret=" + file("0123456789abcdef") + ",nmae=x", "secret=FILE and name=NAME");
}

TEST_F(hello_option, which_wires_lack_a_secret) {
  EXPECT_TRUE(lacks_secret("host:1", with("", "left")));
  EXPECT_FALSE(lacks_secret("host:1", with(good)));
  EXPECT_FALSE(lacks_secret("/run/wire", with("")));
  hello_options none;
  none.without_secret = true;
  EXPECT_FALSE(lacks_secret("host:1", none));
}

}  // namespace
}  // namespace freehca::wires
