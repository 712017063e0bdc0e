// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/hello.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "keyed_digest.hpp"

namespace freehca::wires {
namespace {

// The frame. It begins as an Ethernet frame to an address that no bridge forwards (IEEE 802.1Q,
// table 8-1), from no station, with the EtherType for local experiments (IEEE 802). So an Ethernet
// port that does not know the hello ignores it. Read as an InfiniBand packet, it has a link version
// that does not exist.
constexpr unsigned char frame_beginning[] = {0x01, 0x80, 0xc2, 0,    0,    0x0f, 0,   0,   0,
                                             0,    0,    0,    0x88, 0xb5, 'f',  'r', 'e', 'e',
                                             'h',  'c',  'a',  ' ',  'h',  'e',  'l', 'l', 'o'};
constexpr std::size_t version_at = sizeof frame_beginning, kind_at = 28, role_at = 29,
                      flags_at = 30, name_length_at = 31, payload_at = 32, name_at = 64;
static_assert(version_at + 1 == kind_at);
static_assert(payload_at + sizeof(hello::nonce) == name_at);
static_assert(name_at + hello_options::longest_name + 1 == hello::frame_bytes);

constexpr unsigned hello_version = 1, kind_greeting = 1, kind_proof = 2, flag_secret = 1;
constexpr std::size_t length_bytes = 4;
constexpr std::string_view proof_purpose = "freehca hello: proof of a secret";

std::byte byte_of(std::size_t value) {
  return static_cast<std::byte>(value);
}

unsigned to_number(std::byte value) {
  return std::to_integer<unsigned>(value);
}

// What each frame of a hello begins with: its length, and `frame_beginning`.
std::array<std::byte, length_bytes + sizeof frame_beginning> first_bytes() {
  std::array<std::byte, length_bytes + sizeof frame_beginning> all{};
  all[length_bytes - 1] = byte_of(hello::frame_bytes);
  static_assert(hello::frame_bytes < 256);
  std::memcpy(all.data() + length_bytes, frame_beginning, sizeof frame_beginning);
  return all;
}

// The time does not depend on the place of a difference.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= to_number(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

hello::hello(const hello_options& options, hello_role role, const nonce& own, std::uint64_t now)
    : secret_(options.secret),
      needs_name_(options.needs_name),
      role_(role),
      greeting_(make_frame(role, kind_greeting, own, options.name)) {
  if (has_secret()) deadline_ = now + silence_ns;
  else if (needs_name_) deadline_ = never;
  else if (options.waits_for_name) deadline_ = now + first_frame_ns;
  else open_ = true;
  if (has_secret() || !options.name.empty())
    frames_.emplace_back(greeting_.begin(), greeting_.end());
}

hello::hello(const hello_options& options, hello_role role, bool examines)
    : secret_(options.secret),
      needs_name_(options.needs_name),
      role_(role),
      greeting_{},
      open_(true),
      examines_(examines) {}

hello::image hello::make_frame(hello_role role, unsigned kind, const nonce& payload,
                               const std::string& name) const {
  image all{};
  std::memcpy(all.data(), frame_beginning, sizeof frame_beginning);
  all[version_at] = byte_of(hello_version);
  all[kind_at] = byte_of(kind);
  all[role_at] = byte_of(static_cast<unsigned>(role));
  all[flags_at] = byte_of(has_secret() ? flag_secret : 0);
  all[name_length_at] = byte_of(name.size());
  std::ranges::copy(payload, all.begin() + payload_at);
  std::memcpy(all.data() + name_at, name.data(), name.size());
  return all;
}

std::vector<hello::frame> hello::take_frames() {
  return std::exchange(frames_, {});
}

std::size_t hello::arrived(std::span<const std::byte> bytes) {
  if (!examines() || bytes.empty()) return 0;
  static const auto first = first_bytes();
  const std::size_t compared = std::min(bytes.size(), first.size());
  if (!std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(compared),
                  bytes.begin())) {
    if (has_secret())
      refuse(
          fmt::format("{} sent a frame that is no hello, and this end wants a proof", peer_text()));
    else finish();
    return 0;
  }
  if (bytes.size() < length_bytes + frame_bytes) return 0;
  image all;
  std::ranges::copy(bytes.subspan(length_bytes, frame_bytes), all.begin());
  return length_bytes + take_frame(all);
}

std::size_t hello::take_frame(const image& bytes) {
  if (to_number(bytes[version_at]) != hello_version) {
    // A later version may put more into the hello of a wire without a secret.
    if (has_secret())
      refuse(fmt::format("a hello of version {}; this end has {}", to_number(bytes[version_at]),
                         hello_version));
    else finish();
    return frame_bytes;
  }
  const hello_role other = role_ == hello_role::caller ? hello_role::listener : hello_role::caller;
  if (to_number(bytes[role_at]) != static_cast<unsigned>(other))
    refuse("a hello in the role of this end: a frame that came back, or the wrong end");
  else if (to_number(bytes[kind_at]) == kind_greeting && !greeted_) take_greeting(bytes);
  else if (to_number(bytes[kind_at]) == kind_proof && greeted_) take_proof(bytes);
  else refuse("a hello whose frames are in the wrong order");
  return frame_bytes;
}

void hello::take_greeting(const image& bytes) {
  greeted_ = true;
  peer_greeting_ = bytes;
  const std::size_t length = to_number(bytes[name_length_at]);
  std::string name;
  for (std::size_t i = 0; i < length && name_at + i < frame_bytes; ++i)
    name += static_cast<char>(bytes[name_at + i]);
  if (length > hello_options::longest_name || (length != 0 && !is_wire_name(name)))
    return refuse("a hello with a name that is none");
  if ((to_number(bytes[flags_at]) & ~flag_secret) != 0) return refuse("a hello with unknown flags");
  peer_name_ = name;
  const bool peer_has_secret = (to_number(bytes[flags_at]) & flag_secret) != 0;
  if (peer_has_secret && !has_secret())
    return refuse(fmt::format("{} wants a proof, and this end has no secret", peer_text()));
  if (!peer_has_secret && has_secret())
    return refuse(fmt::format("{} has no secret, and this end wants a proof", peer_text()));
  if (!has_secret()) return finish();
  if (role_ == hello_role::caller) {
    const image proof = make_proof(role_);
    frames_.emplace_back(proof.begin(), proof.end());
  }
}

// The listener proves last, so a caller that has no secret gets nothing to test guesses on.
void hello::take_proof(const image& bytes) {
  const hello_role other = role_ == hello_role::caller ? hello_role::listener : hello_role::caller;
  if (!equal_in_constant_time(make_proof(other), bytes))
    return refuse(fmt::format("{} has another secret, or repeats an old hello", peer_text()));
  if (role_ == hello_role::listener) {
    const image proof = make_proof(role_);
    frames_.emplace_back(proof.begin(), proof.end());
  }
  finish();
}

// Over both greetings whole: nonces, names, roles and version.
hello::image hello::make_proof(hello_role role) const {
  std::vector<std::byte> text;
  for (const char c : proof_purpose) text.push_back(static_cast<std::byte>(c));
  text.push_back(byte_of(static_cast<unsigned>(role)));
  const bool calls = role_ == hello_role::caller;
  for (const image* one :
       {calls ? &greeting_ : &peer_greeting_, calls ? &peer_greeting_ : &greeting_})
    text.insert(text.end(), one->begin(), one->end());
  return make_frame(role, kind_proof, keyed_digest(secret_, text), "");
}

void hello::finish() {
  if (needs_name_ && peer_name_.empty())
    return refuse("the other end has no name, and this end wants one: name=NAME");
  open_ = true;
  examines_ = false;
  deadline_ = never;
}

void hello::refuse(std::string why) {
  refusal_ = std::move(why);
  deadline_ = never;
}

void hello::run(std::uint64_t now) {
  if (now < deadline_) return;
  deadline_ = never;
  if (has_secret())
    refuse(fmt::format("{} sent no {} for 5 s", peer_text(), greeted_ ? "proof" : "hello"));
  else open_ = true;
}

void hello::end() {
  if (has_secret() && !open() && refusal_.empty())
    refuse(fmt::format("{} hung up during the hello: it may have another secret, or none",
                       peer_text()));
}

std::string hello::peer_text() const {
  return peer_name_.empty() ? "the other end" : fmt::format("\"{}\"", peer_name_);
}

}  // namespace freehca::wires
