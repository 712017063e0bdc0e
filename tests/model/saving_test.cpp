// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The bytes of a saved state: values of every kind, streams, and what is refused of them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "saving/stream.hpp"
#include "saving/transfer.hpp"

namespace freehca::model::test {

enum class color : std::uint8_t { red, green, blue };

}  // namespace freehca::model::test

namespace freehca::model::saving {
template <>
inline constexpr auto greatest<test::color> = test::color::blue;
}  // namespace freehca::model::saving

namespace freehca::model::test {
namespace {

class every_kind {
 public:
  void fill() {
    flag_ = true;
    signed_ = -3;
    words_ = {1, 0xfedcba9876543210, 3};
    text_ = "a text";
    bytes_ = {std::byte{7}, std::byte{8}};
    flags_ = {true, false, true};
    by_name_ = {{"b", 2}, {"a", 1}};
    for (unsigned i = 0; i < 50; ++i) {
      by_number_[i * 77 % 101] = i;
      numbers_.insert(i * 31 % 97);
    }
    places_ = {{1, color::green, 2}, {1, color::red, 3}};
    perhaps_ = std::pair{5, color::blue};
    owned_ = std::make_unique<int>(9);
    shared_ = std::make_shared<const std::string>("why");
    queues_[1] = {4, 5, 6};
    inner_ = inner::last;
    *made_ = 11;
  }
  bool operator==(const every_kind& o) const {
    return std::tie(flag_, signed_, words_, text_, bytes_, flags_, by_name_, by_number_, numbers_,
                    places_, perhaps_, queues_, inner_,
                    *made_) == std::tie(o.flag_, o.signed_, o.words_, o.text_, o.bytes_, o.flags_,
                                        o.by_name_, o.by_number_, o.numbers_, o.places_, o.perhaps_,
                                        o.queues_, o.inner_, *o.made_) &&
           *owned_ == *o.owned_ && *shared_ == *o.shared_;
  }

 private:
  enum class inner : std::uint8_t { first, last };

  bool flag_ = false;
  int signed_ = 0;
  std::array<std::uint64_t, 3> words_{};
  std::string text_;
  std::vector<std::byte> bytes_;
  std::vector<bool> flags_;
  std::map<std::string, unsigned> by_name_;
  std::unordered_map<unsigned, unsigned> by_number_;
  std::unordered_set<unsigned> numbers_;
  std::set<std::tuple<int, color, int>> places_;
  std::optional<std::pair<int, color>> perhaps_;
  std::unique_ptr<int> owned_;
  std::shared_ptr<const std::string> shared_;
  std::array<std::deque<int>, 2> queues_;
  inner inner_ = inner::first;
  std::unique_ptr<int> made_ = std::make_unique<int>(0);

 public:
  using saved = saving::fields<
      &every_kind::flag_, &every_kind::signed_, &every_kind::words_, &every_kind::text_,
      &every_kind::bytes_, &every_kind::flags_, &every_kind::by_name_, &every_kind::by_number_,
      &every_kind::numbers_, &every_kind::places_, &every_kind::perhaps_, &every_kind::owned_,
      &every_kind::shared_, &every_kind::queues_, saving::up_to(&every_kind::inner_, inner::last),
      saving::behind(&every_kind::made_)>;
};

template <class Value>
std::vector<std::byte> written(Value& value, saving::purpose what = saving::purpose::load) {
  saving::writer to(what);
  transfer(to, value);
  return to.written();
}

/// Why the bytes are refused as a value of this class. Empty: they are taken.
template <class Value>
std::string refusal(std::span<const std::byte> bytes, Value& to, unsigned version = 1) {
  saving::reader from("value", version, bytes);
  transfer(from, to);
  return from.refusal();
}

TEST(saving, values_of_every_kind_come_back) {
  every_kind before, after;
  before.fill();
  EXPECT_EQ("", refusal(written(before), after));
  EXPECT_EQ(before, after);
  EXPECT_EQ(written(before), written(after));
}

TEST(saving, numbers_are_little_endian_and_keys_in_order) {
  std::unordered_map<std::uint16_t, std::uint8_t> value{{0x1234, 5}, {0x0102, 6}};
  const std::vector<std::byte> wanted{std::byte{2},    std::byte{0}, std::byte{0}, std::byte{0},
                                      std::byte{2},    std::byte{1}, std::byte{6}, std::byte{0x34},
                                      std::byte{0x12}, std::byte{5}};
  EXPECT_EQ(wanted, written(value));
}

// Each byte is changed in turn. The stream is refused, or gives some value.
TEST(saving, a_changed_byte_does_no_harm) {
  every_kind before;
  before.fill();
  const std::vector<std::byte> bytes = written(before);
  unsigned refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned change : {1u, 0x80u, 0xffu}) {
      std::vector<std::byte> changed = bytes;
      changed[i] ^= static_cast<std::byte>(change);
      every_kind after;
      refused += !refusal(changed, after).empty();
    }
  }
  EXPECT_GT(refused, 100u);
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    every_kind after;
    EXPECT_NE("", refusal(std::span(bytes).first(count), after)) << count;
  }
}

struct outer {
  struct row {
    color what = color::red;
    using saved = saving::fields<&row::what>;
  };
  std::vector<row> rows_;
  using saved = saving::fields<&outer::rows_>;
};

TEST(saving, a_refusal_names_the_member_the_value_and_the_bounds) {
  outer value;
  value.rows_.resize(2);
  std::vector<std::byte> bytes = written(value);
  bytes.back() = std::byte{3};
  EXPECT_EQ("value.rows.what: 3 is none of the values 0 to 2", refusal(bytes, value));
  bytes.front() = std::byte{200};
  EXPECT_EQ("value.rows: 200 bytes are wanted and 2 are left", refusal(bytes, value));
}

struct bounded {
  unsigned index = 0;
  using saved = saving::fields<&bounded::index>;
  const char* broken_invariant() const { return index < 4 ? nullptr : "the index is above 3"; }
};

TEST(saving, a_broken_invariant_is_refused) {
  bounded value{3};
  EXPECT_EQ("", refusal(written(value), value));
  value.index = 4;
  EXPECT_EQ("value: the index is above 3", refusal(written(value), value));
}

struct grown {
  int old = 1, later = 2;
  using saved = saving::fields<&grown::old, saving::since(2, &grown::later)>;
};

TEST(saving, an_older_stream_leaves_later_members_alone) {
  int old = 7;
  grown value;
  EXPECT_EQ("", refusal(written(old), value, 1));
  EXPECT_EQ(7, value.old);
  EXPECT_EQ(2, value.later);
  EXPECT_NE("", refusal(written(old), value, 2));
}

struct measured {
  int result = 1, work = 2;
  using saved = saving::fields<&measured::result, saving::outside_digest(&measured::work)>;
};

TEST(saving, a_digest_counts_results_and_no_work) {
  measured value;
  EXPECT_EQ(8u, written(value).size());
  EXPECT_EQ(4u, written(value, saving::purpose::digest).size());
}

std::vector<std::byte> stream_of_two() {
  const std::vector<std::byte> bytes(5, std::byte{1});
  saving::stream_writer to;
  to.add({"first", bytes});
  to.add({"second", {}});
  return std::move(to).finish();
}

TEST(saving, a_stream_has_sections_by_name) {
  const std::vector<std::byte> bytes = stream_of_two();
  const saving::parsed_stream stream = saving::parse_stream(bytes);
  EXPECT_EQ("", stream.refusal);
  EXPECT_EQ(1u, stream.version);
  ASSERT_EQ(2u, stream.sections.size());
  EXPECT_EQ("first", stream.sections[0].name);
  EXPECT_EQ(5u, stream.sections[0].bytes.size());
  EXPECT_EQ("second", stream.sections[1].name);
}

TEST(saving, a_cut_or_changed_stream_is_refused) {
  const std::vector<std::byte> bytes = stream_of_two();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_NE("", saving::parse_stream(std::span(bytes).first(i)).refusal) << i;
    std::vector<std::byte> changed = bytes;
    changed[i] ^= std::byte{1};
    EXPECT_NE("", saving::parse_stream(changed).refusal) << i;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ("1 bytes follow its end", saving::parse_stream(longer).refusal);
}

TEST(saving, a_refused_stream_says_why) {
  std::vector<std::byte> bytes = stream_of_two();
  const auto refused = [&] { return saving::parse_stream(bytes).refusal; };
  bytes[40] ^= std::byte{1};
  EXPECT_EQ("section first is damaged: its checksum differs", refused());
  bytes = stream_of_two();
  bytes[14] = std::byte{2};
  EXPECT_EQ("version 2; this build reads versions 1 to 1", refused());
  bytes[0] = std::byte{0};
  EXPECT_EQ("it is no state of an adapter: it does not begin with its mark", refused());
}

}  // namespace
}  // namespace freehca::model::test
