// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/fields.hpp>

#include <gtest/gtest.h>

namespace freehca {
namespace {

using layouts::addr;
using layouts::as;
using layouts::bits;

enum class color : std::uint8_t { red, green, blue };
struct record {
  static constexpr std::size_t bytes = 0x20;
  bits all{0x00, 31, 0, "all"};
  bits top{0x04, 31, 20, "top"};
  as<bool> flag{0x04, 7, 7, "flag"};
  as<color> paint{0x04, 6, 5, "paint"};
  bits low{0x04, 4, 0, "low"};
  bits wide{0x08, 63, 0, "wide"};
  addr page{0x10, 63, 12, "page"};
  bits order{0x14, 5, 0, "order"};
  bits last{0x1c, 15, 0, "last"};
};
struct values {
  std::uint64_t wide = 0, page = 0;
  std::uint32_t all = 0, last = 0;
  std::uint16_t top = 0;
  std::uint8_t low = 0, spare = 3;
  bool flag = false;
  color paint = color::red;
};
constexpr auto all_rows = fields_of<record>(
    FREEHCA_FIELD(values, all, &record::all), FREEHCA_FIELD(values, top, &record::top),
    FREEHCA_FIELD(values, flag, &record::flag), FREEHCA_FIELD(values, paint, &record::paint),
    FREEHCA_FIELD_AS(values, low, &record::low, attribute_id{7}),
    FREEHCA_FIELD(values, wide, &record::wide), FREEHCA_FIELD(values, last, &record::last),
    FREEHCA_FIELD(values, page, &record::page));
constexpr auto powers =
    fields_of<record>(FREEHCA_FIELD_AS(values, wide, &record::order, power_of_2{}),
                      FREEHCA_FIELD_AS(values, all, &record::low, power_of_2{}));

template <class Table>
concept storable = requires(const Table& t, layouts::image<record> i, values v,
                            refused_attribute note) {
  store(t, v, i, note);
};
static_assert(storable<decltype(all_rows)> && !storable<decltype(powers)>);

const values sample{.wide = 0x0123456789abcdef,
                    .page = 0xfedcba9876543000,
                    .all = 0xdeadbeef,
                    .last = 0xcafe,
                    .top = 0xabc,
                    .low = 21,
                    .flag = true,
                    .paint = color::blue};

TEST(fields, a_table_stores_what_set_stores) {
  layouts::image<record> expected, made;
  for (layouts::image<record>* i : {&expected, &made})
    for (std::size_t n = 0; n < record::bytes; ++n) i->data()[n] = std::byte{0x5a};
  expected.set<&record::all>(sample.all).set<&record::top>(sample.top).set<&record::flag>(true);
  expected.set<&record::paint>(sample.paint).set<&record::low>(sample.low);
  expected.set<&record::wide>(sample.wide).set<&record::last>(sample.last);
  expected.set<&record::page>(sample.page);
  refused_attribute note;
  EXPECT_TRUE(store(all_rows, sample, made, note).ok());
  EXPECT_EQ(note.what, attribute_id{});
  EXPECT_TRUE(made == expected) << "the other bits stay";
}

TEST(fields, a_table_loads_what_it_stored) {
  layouts::image<record> image;
  refused_attribute note;
  ASSERT_TRUE(store(all_rows, sample, image, note).ok());
  image.set<&record::order>(9);
  values v;
  load(all_rows, image, v);
  EXPECT_EQ(v.all, sample.all);
  EXPECT_EQ(v.top, sample.top);
  EXPECT_EQ(v.low, sample.low);
  EXPECT_TRUE(v.flag);
  EXPECT_EQ(v.paint, color::blue);
  EXPECT_EQ(v.wide, sample.wide);
  EXPECT_EQ(v.last, sample.last);
  EXPECT_EQ(v.page, sample.page) << "its low bits are another field";
  EXPECT_EQ(v.spare, 3) << "a member without a row";
}

TEST(fields, a_logarithm_becomes_a_number) {
  layouts::image<record> image;
  image.set<&record::order>(63).set<&record::low>(31);
  values v;
  load(powers, image, v);
  EXPECT_EQ(v.wide, std::uint64_t{1} << 63);
  EXPECT_EQ(v.all, 1u << 31);
}

TEST(fields, a_value_that_does_not_fit_stops_the_copy) {
  values v = sample;
  v.low = 32;
  layouts::image<record> image;
  refused_attribute note;
  EXPECT_TRUE(store(all_rows, v, image, note).is(driver_error::bad_argument));
  EXPECT_EQ(note.what, attribute_id{7});
  EXPECT_EQ(note.value, 32u);
  EXPECT_EQ(note.limit, 31u);
  EXPECT_EQ(image.get<&record::all>(), sample.all);
  EXPECT_EQ(image.get<&record::low>(), 0u);
  EXPECT_EQ(image.get<&record::wide>(), 0u);
  v.top = 0x1000;
  EXPECT_TRUE(store(all_rows, v, image, note).is(driver_error::bad_argument));
  EXPECT_EQ(note.what, attribute_id{});
  EXPECT_EQ(note.value, 0x1000u);
  EXPECT_EQ(note.limit, 0xfffu);
  EXPECT_TRUE(store(all_rows, v, image, note, 5, 2).ok()) << "the rows between them";
  EXPECT_EQ(image.get<&record::wide>(), sample.wide);
  EXPECT_EQ(image.get<&record::page>(), 0u);
  v.page |= 8;
  EXPECT_FALSE(store(all_rows, v, image, note, 7, 1).ok()) << "not aligned";
  EXPECT_EQ(note.value, v.page);
}

TEST(fields, a_check_records_value_and_limit) {
  refused_attribute note;
  EXPECT_TRUE(note.check(attribute_id{3}, 1, 4, 1).ok());
  EXPECT_TRUE(note.check(attribute_id{3}, 4, 4, 1).ok());
  EXPECT_EQ(note.what, attribute_id{});
  EXPECT_TRUE(note.check(attribute_id{3}, 5, 4, 1).is(driver_error::bad_argument));
  EXPECT_EQ(note.what, attribute_id{3});
  EXPECT_EQ(note.value, 5u);
  EXPECT_EQ(note.limit, 4u);
  EXPECT_TRUE(note.check(attribute_id{2}, 0, 4, 1).is(driver_error::bad_argument));
  EXPECT_EQ(note.what, attribute_id{2});
  EXPECT_EQ(note.value, 0u);
  EXPECT_EQ(note.limit, 1u);
}

}  // namespace
}  // namespace freehca
