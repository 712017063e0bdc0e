// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Answers that were changed by hand in ten places and more, in the recording or in the model: each
// is found, with the field and the row of the documentation that it bears on.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/wqe.hpp>
#include <freehca/recording/rows.hpp>
#include <freehca/recording/volatile_fields.hpp>

#include "driver_session.hpp"

namespace freehca {
namespace {

using namespace testing;
using layouts::opcode;
using recording::record;
using recording::record_kind;

constexpr const char* model_page = "docs/model.md";

/// A place where an answer is changed, and what must be told of it.
struct place {
  const char* name;
  std::function<bool(const record& written, const record& command)> which;
  std::size_t offset;  ///< of the byte that is changed, in the mailbox or entry
  std::byte change;
  std::string field, page, section, first, second;
};

bool is_output(const record& r, opcode of) {
  return r.what == "output_mailbox" && r.of == static_cast<std::uint64_t>(of);
}
auto output_of(opcode code) {
  return [code](const record& r, const record&) { return is_output(r, code); };
}

std::vector<place> places() {
  const auto ends = [](opcode code) {
    return [code](const record& r, const record& command) {
      return r.what == "eqe" && r.data[1] == std::byte{0x0a} && command.opcode == code;
    };
  };
  const auto completes = [](layouts::wqe_opcode code) {
    return [code](const record& r, const record&) {
      const auto e = layouts::image<layouts::cqe>::from_bytes(r.data.data());
      return r.what == "cqe" && e.get<&layouts::cqe::is_send>() &&
             e.get<&layouts::cqe::opcode>() == static_cast<std::uint64_t>(code);
    };
  };
  const auto received = [](const record& r, const record&) {
    return r.what == "cqe" &&
           !layouts::image<layouts::cqe>::from_bytes(r.data.data()).get<&layouts::cqe::is_send>();
  };
  const auto port_event = [](const record& r, const record&) {
    return r.what == "eqe" && r.data[1] == std::byte{0x09};
  };
  constexpr std::byte one{1};
  const char* const chosen = "No source: chosen";
  const char* const chosen_page = "docs/hardware-model-core.md";
  return {
      {"firmware version", output_of(opcode::query_fw), 0x07, one, "query_fw.fw_rev_minor",
       model_page, "Commands", "QUERY_FW", ""},
      {"place of the error buffer", output_of(opcode::query_fw), 0x36, one,
       "query_fw.error_buf_offset", chosen_page, chosen, "places in BAR 0", ""},
      {"most queue pairs", output_of(opcode::query_dev_cap), 0x13, one, "query_dev_cap.log_max_qps",
       chosen_page, chosen, "limits beyond what the captures give", ""},
      {"BlueFlame", output_of(opcode::query_dev_cap), 0x4c, std::byte{0x80}, "query_dev_cap.bf",
       model_page, "Capabilities", "blueflame", ""},
      {"shared receive queues", output_of(opcode::query_dev_cap), 0x47, std::byte{0x40},
       "query_dev_cap.flags", model_page, "Capabilities", "srq", ""},
      {"multicast, in the same field", output_of(opcode::query_dev_cap), 0x45, std::byte{0x20},
       "query_dev_cap.flags", model_page, "Capabilities", "multicast", ""},
      {"a reserved byte", output_of(opcode::query_adapter), 0x04, one,
       "reserved bits of the word at 0x4", model_page, "Commands", "QUERY_ADAPTER", ""},
      {"MTU of a port", output_of(opcode::query_port), 0x01, one, "query_port.ib_mtu", model_page,
       "Commands", "QUERY_PORT", ""},
      {"status of SW2HW_CQ", ends(opcode::sw2hw_cq), 0x0f, std::byte{0x03}, "eqe_command.status",
       "docs/strictness.md", "Commands", "SW2HW_CQ", "input mailbox off its alignment"},
      {"length of a message", received, 0x17, one, "cqe.byte_count", model_page, "Work requests",
       "SEND", ""},
      {"index of a write", completes(layouts::wqe_opcode::rdma_write), 0x19, one,
       "cqe_send.wqe_index", model_page, "Work requests", "RDMA_WRITE", ""},
      {"a reserved byte of an event", port_event, 0x08, one, "reserved bits of the word at 0x8",
       model_page, "Events", "port change", ""},
  };
}

/// Where in the recording a place is: the first record that it names.
struct target {
  std::size_t record = 0;
  std::size_t before = 0;  ///< writes to the same address before it
  opcode command{};
};

target find(const recording::recording& in, const place& p) {
  std::map<std::uint64_t, std::size_t> writes;
  std::map<std::uint64_t, record> commands;
  for (std::size_t i = 0; i < in.records.size(); ++i) {
    const record& r = in.records[i];
    if (r.kind == record_kind::command) commands[r.token] = r;
    if (r.kind != record_kind::write) continue;
    record command;
    if (r.what == "output_mailbox") command = commands[r.index];
    if (r.what == "eqe")
      command = commands[layouts::image<layouts::eqe_command>::from_bytes(r.data.data())
                             .get<&layouts::eqe_command::token>()];
    if (p.which(r, command)) return {i, writes[r.at], command.opcode};
    ++writes[r.at];
  }
  ADD_FAILURE() << p.name << ": the recording has no such place";
  return {};
}

void expect_found(const recording::driver_replay_result& result, const std::vector<place>& all) {
  std::set<std::size_t> lines;
  for (const place& p : all) {
    const auto found = std::find_if(
        result.differences.begin(), result.differences.end(), [&p](const recording::difference& d) {
          return d.field == p.field && d.bears_on.page == p.page &&
                 d.bears_on.section == p.section && d.bears_on.first == p.first &&
                 d.bears_on.second == p.second;
        });
    EXPECT_NE(found, result.differences.end()) << p.name << " in:\n" << all_words(result);
    if (found == result.differences.end()) continue;
    EXPECT_NE(found->card, found->model);
    EXPECT_FALSE(found->step.empty());
  }
  EXPECT_EQ(result.differences.size(), all.size()) << all_words(result);
}

TEST(driver_differences, a_recording_changed_in_ten_places_gives_each_with_its_row) {
  recording::recording card = load_text(driver_recording());
  std::vector<place> all = places();
  ASSERT_GE(all.size(), 10u);
  std::vector<target> targets;
  targets.reserve(all.size());
  for (const place& p : all) targets.push_back(find(card, p));
  if (HasFailure()) return;
  for (std::size_t i = 0; i < all.size(); ++i)
    card.records[targets[i].record].data[all[i].offset] ^= all[i].change;
  // Of a register and of configuration space the answer stands in a record of its own.
  const auto change_read = [&card](const char* call, std::uint64_t at) {
    for (std::size_t i = 0; i + 1 < card.records.size(); ++i)
      if (card.records[i].name == call && card.records[i].at == at) {
        card.records[i + 1].value ^= 0x10000;
        return;
      }
    ADD_FAILURE() << call;
  };
  change_read("read_bar0", layouts::bar0::hardware_id);
  change_read("read_configuration", 0x2c);
  all.push_back({"hardware",
                 {},
                 0,
                 {},
                 "bar0.0xf0014",
                 "docs/hardware.md",
                 "Facts that do not show in a table",
                 "The word at 0xf0014 of BAR 0 tells the generation and its revision",
                 ""});
  all.push_back({"subsystem",
                 {},
                 0,
                 {},
                 "configuration.0x2c",
                 "docs/hardware-pci.md",
                 "PCI identity",
                 "subsystem, two ports / one",
                 ""});
  expect_found(recording::replay_driver(card), all);
}

TEST(driver_differences, a_model_that_answers_otherwise_in_ten_places_is_found_out_in_each) {
  const recording::recording card = load_text(driver_recording());
  std::vector<place> all = places();
  std::vector<target> targets;
  targets.reserve(all.size());
  for (const place& p : all) targets.push_back(find(card, p));
  if (HasFailure()) return;
  std::vector<std::size_t> seen(all.size());
  std::vector<bool> done(all.size());
  recording::tampering otherwise;
  otherwise.write = [&](const record& command, std::uint64_t address,
                        std::vector<std::byte>& data) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const record& was = card.records[targets[i].record];
      const std::uint64_t at = was.at + all[i].offset;
      if (done[i] || at < address || at >= address + data.size()) continue;
      const bool mailbox = was.what == "output_mailbox";
      // An entry comes in two writes; longer ones make a queue's buffer hardware's.
      if (!mailbox && data.size() >= layouts::eqe::bytes) continue;
      if (mailbox ? command.opcode != targets[i].command : seen[i]++ != targets[i].before) continue;
      data[at - address] ^= all[i].change;
      done[i] = true;
    }
  };
  otherwise.read_bar0 = [](std::uint64_t at, std::uint64_t value) {
    return at == layouts::bar0::hardware_id ? value ^ 0x10000 : value;
  };
  all.push_back({"hardware",
                 {},
                 0,
                 {},
                 "bar0.0xf0014",
                 "docs/hardware.md",
                 "Facts that do not show in a table",
                 "The word at 0xf0014 of BAR 0 tells the generation and its revision",
                 ""});
  const std::size_t places_of_reads = 1;
  expect_found(recording::replay_driver(card, otherwise), all);
  EXPECT_EQ(std::count(done.begin(), done.end(), true),
            static_cast<std::ptrdiff_t>(all.size() - places_of_reads));
}

/// The cells of each row, by page and section.
std::set<std::vector<std::string>> rows_of(const std::string& page) {
  std::ifstream file(std::string(FREEHCA_ROOT) + "/" + page);
  EXPECT_TRUE(file.good()) << page;
  std::set<std::vector<std::string>> all;
  std::string line, section;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) section = line.substr(line.find_first_not_of("# "));
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 2, end; cells.size() < 2 && (end = line.find(" |", at)) != line.npos;
         at = end + 3)
      cells.push_back(line.substr(at, end - at));
    if (cells.size() < 2) continue;
    all.insert({section, cells[0], ""});
    all.insert({section, cells[0], cells[1]});
  }
  return all;
}

TEST(driver_differences, every_row_that_a_difference_names_stands_on_its_page) {
  std::map<std::string, std::set<std::vector<std::string>>> pages;
  std::size_t looked_for = 0;
  for (const recording::page_row& r : recording::every_row()) {
    if (pages.find(r.page) == pages.end()) pages[r.page] = rows_of(r.page);
    EXPECT_TRUE(pages[r.page].count({r.section, r.first, r.second}) == 1)
        << r.page << ", " << r.section << ": " << r.first << " | " << r.second;
    ++looked_for;
  }
  EXPECT_GT(looked_for, 400u);
}

/// Rows of a command on the page of strictness whose answer is, or ends with, the words.
unsigned rows_with(const std::string& command, const std::string& answer) {
  std::ifstream file(std::string(FREEHCA_ROOT) + "/docs/strictness.md");
  const std::string begin = "| " + command + " | ";
  std::string line, section;
  unsigned count = 0;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (section != "Commands" || !line.starts_with(begin)) continue;
    const std::size_t second = line.find(" | ", begin.size()) + 3;
    const std::string cell = line.substr(second, line.find(" |", second) - second);
    count += cell == answer || cell.ends_with(": " + answer) ? 1u : 0u;
  }
  return count;
}

TEST(driver_differences, where_several_rows_fit_none_of_them_is_named) {
  using layouts::command_status;
  std::size_t several = 0;
  for (unsigned code = 0; code < 0x1000; ++code)
    for (const command_status s : {command_status::bad_parameter, command_status::bad_operation,
                                   command_status::exceeds_limits}) {
      const auto command = static_cast<opcode>(code);
      recording::difference d;
      d.bears_on = recording::row_of_status(command, s, command_status::ok);
      if (d.bears_on.page != "docs/strictness.md") continue;
      const unsigned count = rows_with(name_of(command), name_of(s));
      EXPECT_EQ(d.bears_on.fitting, count) << name_of(command) << ", " << name_of(s);
      const std::string text = words_of(d);
      EXPECT_EQ(text.find(d.bears_on.second) == std::string::npos, count > 1) << text;
      EXPECT_EQ(text.ends_with("docs/strictness.md, \"Commands\", one of " + std::to_string(count) +
                               " rows of " + name_of(command) + " with this status"),
                count > 1)
          << text;
      several += count > 1 ? 1 : 0;
    }
  EXPECT_GT(several, 10u);
}

TEST(driver_differences, what_no_row_fits_bears_on_the_section) {
  constexpr std::uint8_t unknown = 0x7f, error = 0x1e, no_send = 0x1c;
  for (const recording::page_row& row :
       {recording::row_of_event(unknown), recording::row_of_completion(error, true, unknown),
        recording::row_of_completion(no_send, false, 0)}) {
    recording::difference d;
    d.bears_on = row;
    EXPECT_EQ(row.first, "");
    EXPECT_TRUE(words_of(d).ends_with("\", where no row fits")) << words_of(d);
  }
}

TEST(driver_differences, what_is_left_out_is_named_with_a_reason) {
  for (const recording::volatile_field& v : recording::volatile_fields()) {
    EXPECT_FALSE(v.why.empty()) << v.name;
    EXPECT_NE(recording::find_volatile(v.name), nullptr);
  }
  EXPECT_EQ(recording::find_volatile("cqe.byte_count"), nullptr);
  EXPECT_EQ(recording::find_volatile("eqe_command.status"), nullptr);
}

/// The recording as it is when the card falls silent behind the GO of the first such command:
/// whole, with a last record that fits.
std::string silent_after(const std::string& command, const std::string& more) {
  const std::string& whole = driver_recording();
  std::size_t at = whole.find("{\"command\":\"" + command + "\"");
  EXPECT_NE(at, std::string::npos) << command;
  // The words of the command register follow; the last has GO, at 0x18.
  at = whole.find("\"at\":\"0x80698\"", at);
  EXPECT_NE(at, std::string::npos);
  const std::string text = whole.substr(0, whole.find('\n', at) + 1) + more;
  return text + "{\"end\":" + std::to_string(std::count(text.begin(), text.end(), '\n') - 1) +
         "}\n";
}

// What a polled command leaves in the word that has GO: each field is compared.
TEST(driver_differences, each_field_of_the_command_register_is_compared) {
  const std::pair<unsigned, const char*> fields[] = {
      {24, "status"}, {22, "hcr.e"}, {21, "hcr.t"}, {12, "hcr.opcode_modifier"}, {0, "hcr.opcode"}};
  const recording::recording loaded = load_text(driver_recording());
  for (const auto& [bit, field] : fields) {
    recording::recording card = loaded;
    const auto read = std::find_if(card.records.begin(), card.records.end(), [](const record& r) {
      return r.name == "read_bar0" && r.at == layouts::bar0::hcr_status;
    });
    ASSERT_NE(read, card.records.end());
    (read + 1)->value ^= std::uint64_t{1} << bit;
    const recording::driver_replay_result result = recording::replay_driver(card);
    ASSERT_EQ(result.differences.size(), 1u) << field << "\n" << all_words(result);
    EXPECT_EQ(result.differences[0].field, field);
  }
  EXPECT_NE(recording::find_volatile("hcr.status_of_event"), nullptr);
}

// The card that hangs is the one whose recording is wanted most.
TEST(driver_differences, a_command_that_the_card_never_ends_is_told) {
  const std::string later = R"("t":60000000000})";
  const std::pair<std::string, std::string> ends[] = {
      {"", "the recording's end"},
      {"{\"call\":\"reset\",\"at\":\"0x0\",\"bytes\":0,\"value\":\"0x0\"," + later + "\n",
       "a reset"},
      {"{\"call\":\"write_bar0\",\"at\":\"0xf0010\",\"bytes\":4,\"value\":\"0x1000000\"," + later +
           "\n",
       "a reset"},
      {"{\"command\":\"NOP\",\"opcode\":\"0x31\",\"token\":\"0x7777\",\"opcode_modifier\":0,"
       "\"input_modifier\":\"0x0\",\"input\":\"0x0\",\"output\":\"0x0\",\"event\":true," +
           later + "\n",
       "the next command"}};
  for (const std::string command : {"QUERY_FW", "RUN_FW", "INIT_HCA"})
    for (const auto& [more, when] : ends) {
      const recording::recording card = load_text(silent_after(command, more));
      EXPECT_EQ(card.problem, "");
      const recording::driver_replay_result result = recording::replay_driver(card);
      ASSERT_EQ(result.differences.size(), 1u) << command << "\n" << all_words(result);
      const recording::difference& d = result.differences[0];
      EXPECT_EQ(d.where, command);
      EXPECT_EQ(d.field, "answer");
      EXPECT_EQ(d.card, "none until " + when);
      EXPECT_EQ(d.model, "0x0 (ok)");
      EXPECT_EQ(d.bears_on.page, model_page);
      EXPECT_EQ(d.bears_on.section, "Commands");
      EXPECT_EQ(d.bears_on.first, command);
    }
  // A recording that is cut off says nothing of what it lacks.
  std::string cut = silent_after("RUN_FW", "");
  cut.erase(cut.rfind("{\"end\""));
  EXPECT_EQ(recording::replay_driver(load_text(cut)).differences.size(), 0u);
}

// An entry that only one side has: a model that is silent is found out, and the replay ends.
TEST(driver_differences, an_entry_that_one_side_lacks_is_told) {
  recording::recording card = load_text(driver_recording());
  const auto gone = std::find_if(card.records.begin(), card.records.end(), [](const record& r) {
    return r.kind == record_kind::write && r.what == "cqe";
  });
  ASSERT_NE(gone, card.records.end());
  card.records.erase(gone);
  const recording::driver_replay_result result = recording::replay_driver(card);
  ASSERT_FALSE(result.differences.empty());
  EXPECT_TRUE(std::any_of(result.differences.begin(), result.differences.end(),
                          [](const recording::difference& d) { return d.card == "wrote none"; }))
      << all_words(result);
}

}  // namespace
}  // namespace freehca
