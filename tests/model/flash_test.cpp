// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The flash behind its gateway, as firmware tools read it, and the command register that they use.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/layouts/flash.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/mad.hpp>

#include "test_driver.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr std::uint32_t head_bytes = fs2_header::bytes, section_bytes = fs2_section::bytes,
                        tag_bytes = fs2_tag::bytes;

class flash_reader : public testing::TestWithParam<variant> {
 protected:
  flash_reader() { how.kind = GetParam(); }
  void SetUp() override {
    hca = std::make_unique<device>(host, how);
    driver = std::make_unique<test_driver>(host, *hca);
  }

  static image<flash_command> read_of(spi_opcode what, unsigned log_bytes) {
    return image<flash_command>{}
        .set<&flash_command::busy>(true)
        .set<&flash_command::opcode>(static_cast<unsigned>(what))
        .set<&flash_command::enable>(true)
        .set<&flash_command::log_data>(log_bytes)
        .set<&flash_command::data_phase>(true)
        .set<&flash_command::opcode_phase>(true)
        .set<&flash_command::read>(true);
  }
  std::uint32_t run(const image<flash_command>& c) {
    driver->write(flash_gateway::command, load_be<std::uint32_t>(c.data()));
    EXPECT_EQ(driver->read(flash_gateway::command) >> 30 & 1, 0u);
    return static_cast<std::uint32_t>(driver->read(flash_gateway::data));
  }
  std::uint32_t word_at(std::uint32_t place) {
    driver->write(flash_gateway::address, place);
    return run(read_of(spi_opcode::read, 2).set<&flash_command::address_phase>(true));
  }
  template <class T>
  image<T> at(std::uint32_t place) {
    image<T> i;
    for (std::uint32_t n = 0; n < T::bytes; n += 4)
      store_be<std::uint32_t>(i.data() + n, word_at(place + n));
    return i;
  }
  std::uint16_t crc_from(std::uint32_t place, std::uint32_t end) {
    fs2_crc crc;
    for (; place < end; place += 4) crc.add(word_at(place));
    return crc.value();
  }

  test_host host;
  options how = test_options();
  std::unique_ptr<device> hca;
  std::unique_ptr<test_driver> driver;
};

TEST_P(flash_reader, the_image_names_the_adapter_and_its_crcs_are_right) {
  const auto head = at<fs2_header>(0);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(word_at(i * 4), fs2_magic[i]);
  const auto end = static_cast<std::uint32_t>(head.get<&fs2_header::image_bytes>());
  const auto words = static_cast<std::uint32_t>(at<fs2_boot>(head_bytes).get<&fs2_boot::words>());
  std::uint32_t place = head_bytes + (words + fs2_boot_frame_words) * 4;
  EXPECT_EQ(word_at(place - 4), crc_from(head_bytes, place - 4));

  std::vector<fs2_section_type> sections;
  while (place != fs2_last_section && sections.size() < 3) {
    const auto s = at<fs2_section>(place);
    const auto data = place + section_bytes;
    const auto after = data + static_cast<std::uint32_t>(s.get<&fs2_section::words>()) * 4;
    EXPECT_EQ(word_at(after), crc_from(place, after));
    sections.push_back(s.get<&fs2_section::type>());
    if (sections.back() == fs2_section_type::guids) {
      EXPECT_EQ(head.get<&fs2_header::guids_place>(), data);
      const std::uint64_t wanted[] = {how.node_guid,     how.node_guid + 1, how.node_guid + 2,
                                      how.node_guid + 3, how.mac,           how.mac + 1};
      for (std::uint32_t i = 0; i < 6; ++i)
        EXPECT_EQ(std::uint64_t{word_at(data + i * 8)} << 32 | word_at(data + i * 8 + 4),
                  wanted[i]);
    } else {
      EXPECT_EQ(head.get<&fs2_header::info_place>(), data);
    }
    place = static_cast<std::uint32_t>(s.get<&fs2_section::next>());
    if (place == fs2_last_section) {
      EXPECT_EQ(end, after + 4);
    }
  }
  EXPECT_EQ(sections, (std::vector{fs2_section_type::guids, fs2_section_type::image_info}));
  EXPECT_EQ(word_at(end), 0xffffffffu);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_P(flash_reader, the_image_has_the_version_that_runs) {
  const auto info = static_cast<std::uint32_t>(at<fs2_header>(0).get<&fs2_header::info_place>());
  EXPECT_EQ(at<fs2_tag>(info).get<&fs2_tag::type>(), fs2_tag_type::firmware_version);
  const auto version = at<fs2_firmware_version>(info + tag_bytes);
  image<running_version> runs;
  for (std::uint32_t n = 0; n < running_version::bytes; n += 4)
    store_be<std::uint32_t>(runs.data() + n,
                            static_cast<std::uint32_t>(driver->read(running_version_place + n)));
  EXPECT_EQ(version.get<&fs2_firmware_version::major>(), runs.get<&running_version::major>());
  EXPECT_EQ(version.get<&fs2_firmware_version::minor>(), runs.get<&running_version::minor>());
  EXPECT_EQ(version.get<&fs2_firmware_version::subminor>(), runs.get<&running_version::subminor>());
  EXPECT_EQ(runs.get<&running_version::major>(), 2u);
}

INSTANTIATE_TEST_SUITE_P(variants, flash_reader,
                         testing::Values(variant::connectx3_pro, variant::connectx3,
                                         variant::connectx2));

class flash_chip : public flash_reader {};

TEST_P(flash_chip, tells_who_it_is_and_there_is_one) {
  const auto ask = read_of(spi_opcode::read_identification, 2);
  EXPECT_EQ(run(ask), 0xef401500u);
  EXPECT_EQ(run(image<flash_command>{ask}.set<&flash_command::chip>(1)), 0xffffffffu);
  EXPECT_EQ(run(image<flash_command>{ask}.set<&flash_command::enable>(false)), 0xffffffffu);
}

TEST_P(flash_chip, is_protected_and_says_so) {
  EXPECT_EQ(run(read_of(spi_opcode::read_status, 2)) >> 24, 0x1cu);
  constexpr unsigned write_enable = 0x06, page_program = 0x02, sector_erase = 0xd8;
  for (const unsigned what : {write_enable, page_program, sector_erase}) {
    driver->write(flash_gateway::address, 0);
    driver->write(flash_gateway::data, 0);
    run(image<flash_command>{}
            .set<&flash_command::busy>(true)
            .set<&flash_command::opcode>(what)
            .set<&flash_command::enable>(true)
            .set<&flash_command::log_data>(4)
            .set<&flash_command::data_phase>(what == page_program)
            .set<&flash_command::address_phase>(what != write_enable)
            .set<&flash_command::opcode_phase>(true));
  }
  EXPECT_EQ(word_at(0), fs2_magic[0]);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_P(flash_chip, a_reset_clears_the_gateway) {
  word_at(4);
  EXPECT_EQ(driver->read(flash_gateway::address), 4u);
  driver->write(bar0::reset, bar0::reset_value);
  EXPECT_EQ(driver->read(flash_gateway::address), 0u);
  EXPECT_EQ(driver->read(flash_gateway::data), 0u);
}

TEST_P(flash_chip, the_commands_of_firmware_tools_are_unknown_and_not_done) {
  EXPECT_EQ(driver->read(tools_command::semaphore), 0u);
  EXPECT_NE(driver->read(tools_command::semaphore), 0u);
  constexpr unsigned query_default_parameters = 0x73;
  image<hcr> c;
  c.set<&hcr::opcode>(static_cast<opcode>(query_default_parameters)).set<&hcr::go>(true);
  for (std::uint32_t n = 0; n < hcr::bytes; n += 4)
    driver->write(tools_command::base + n, load_be<std::uint32_t>(c.data() + n));
  image<hcr> answer;
  for (std::uint32_t n = 0; n < hcr::bytes; n += 4)
    store_be<std::uint32_t>(answer.data() + n,
                            static_cast<std::uint32_t>(driver->read(tools_command::base + n)));
  EXPECT_FALSE(answer.get<&hcr::go>());
  EXPECT_EQ(answer.get<&hcr::status>(), command_status::bad_operation);
  driver->write(tools_command::semaphore, 0);
  EXPECT_EQ(driver->read(tools_command::semaphore), 0u);
  EXPECT_EQ(hca->complaints(), 0u);
}

INSTANTIATE_TEST_SUITE_P(variants, flash_chip, testing::Values(variant::connectx3_pro));

}  // namespace
}  // namespace freehca::model::test
