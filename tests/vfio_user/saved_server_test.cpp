// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The state of a server in a file: --save-on TERM and --load.
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "command_register.hpp"
#include "control_caller.hpp"
#include "saved_adapter.hpp"
#include "session.hpp"
#include "setting_rows.hpp"
#include "state_stream.hpp"

namespace freehca::vfio_user {
namespace {

using device_server::state_section;
using layouts::command_status;
using layouts::opcode;

using state_bytes = std::vector<std::byte>;

state_bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::string& path, const state_bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

std::vector<state_section> sections_of(const state_bytes& bytes) {
  std::vector<state_section> found;
  EXPECT_EQ("", device_server::read_state_stream(bytes, found));
  return found;
}

// The model's stream without its clock: a mark of 14 bytes, a version, and sections of the same
// form.
std::vector<state_section> sections_of_model(std::span<const std::byte> bytes) {
  std::vector<state_section> found;
  device_server::state_reader from(bytes.subspan(18));
  while (from.ok()) {
    std::uint8_t name_bytes = 0;
    from.number(name_bytes);
    if (name_bytes == 0) break;
    const auto name = from.part(name_bytes);
    std::uint64_t count = 0;
    from.number(count);
    const auto contents = from.part(count);
    from.part(4);
    const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
    if (text != "clock") found.push_back({text, contents});
  }
  EXPECT_TRUE(from.ok());
  return found;
}

void expect_equal_sections(const std::vector<state_section>& a,
                           const std::vector<state_section>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    if (a[i].name == "adapter")
      expect_equal_sections(sections_of_model(a[i].bytes), sections_of_model(b[i].bytes));
    else EXPECT_TRUE(std::ranges::equal(a[i].bytes, b[i].bytes)) << a[i].name;
  }
}

struct saved_server : served {
  std::string file = files.path("state");

  void start_saving(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--save-on", "TERM", file});
    start(std::move(arguments));
  }
  void stop_saving() {
    EXPECT_EQ(0, server.stop()) << server.said();
    c.disconnect();
  }
  void save_one() {
    start_saving();
    stop_saving();
  }
  // Starts a server that refuses its state.
  void expect_refusal(const state_bytes& state, int code, const std::string& words,
                      std::vector<std::string> arguments = {}) {
    const std::string path = files.path("other");
    write_file(path, state);
    arguments.insert(arguments.end(), {"--socket", socket, "--load", path});
    served_program one;
    one.start(arguments);
    EXPECT_EQ(code, one.wait());
    EXPECT_NE(std::string::npos, one.said().find("--load " + path + ": " + words)) << one.said();
    EXPECT_EQ(std::string::npos, one.said().find("ready")) << one.said();
    EXPECT_NE(0, access(socket.c_str(), F_OK)) << "the socket is left";
  }
};

TEST_F(saved_server, another_process_goes_on_with_the_adapter) {
  for (const char* const restarts : {"off", "on"}) {
    start_saving({"--restarts", restarts, "--closed", "required"});
    shared_memory host(0x10000);
    ASSERT_EQ(0, c.map(0x100000, host.bytes(), host.file()));
    enable();
    ASSERT_EQ(command_status::ok, run_command(*this, opcode::query_fw, 0x100000, true));
    set_configuration(PCI_BASE_ADDRESS_0, 0xfe000000);
    write_register(device_server::msix_table_at, 0x12345678);
    stop_saving();
    struct stat about {};
    ASSERT_EQ(0, stat(file.c_str(), &about));
    EXPECT_EQ(0600u, about.st_mode & 0777);
    EXPECT_NE(0, access((file + ".new").c_str(), F_OK));

    start({"--restarts", restarts, "--load", file, "--strict", "on"});
    ASSERT_EQ(0, c.map(0x100000, host.bytes(), host.file()));
    EXPECT_EQ(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, configuration(PCI_COMMAND, 2));
    EXPECT_EQ(0xfe000000u, configuration(PCI_BASE_ADDRESS_0) & ~0xfu);
    EXPECT_EQ(0x12345678u, read_register(device_server::msix_table_at));
    // The register's toggle bit goes on.
    EXPECT_EQ(command_status::ok, run_command(*this, opcode::query_fw, 0x100000, false));
    stop_saving();
  }
}

TEST_F(saved_server, two_saves_without_work_between_them_are_equal) {
  start_saving({"--sm", "off"});
  enable();
  set_configuration(PCI_INTERRUPT_LINE, 0x0b, 1);
  stop_saving();
  const state_bytes first = read_file(file);
  start_saving({"--sm", "off", "--load", file});
  stop_saving();
  const state_bytes second = read_file(file);
  expect_equal_sections(sections_of(first), sections_of(second));
}

TEST_F(saved_server, a_setting_of_the_control_socket_is_saved) {
  const std::string control = files.path("control");
  start_saving({"--control", control});
  {
    control_caller asks(control);
    for (const auto& [name, value] :
         {std::pair{"strict", "on"}, {"cable1", "off"}, {"x-rules-off", "uar-place"}})
      EXPECT_TRUE(asks.ask("set", {{"name", name}, {"value", value}}).value("ok", false)) << name;
  }
  stop_saving();
  start({"--control", control, "--load", file});
  control_caller asks(control);
  EXPECT_EQ("on", asks.ask("get", {{"name", "strict"}})["value"]);
  EXPECT_EQ("off", asks.ask("get", {{"name", "cable1"}})["value"]);
  EXPECT_EQ("uar-place", asks.ask("get", {{"name", "x-rules-off"}})["value"]);
}

TEST_F(saved_server, an_end_by_another_signal_saves_nothing) {
  start_saving();
  kill(server.process(), SIGINT);
  EXPECT_EQ(0, server.wait());
  EXPECT_NE(0, access(file.c_str(), F_OK));
  EXPECT_NE(0, access((file + ".new").c_str(), F_OK));
}

TEST_F(saved_server, an_obstacle_is_named) {
  served_program one;
  one.start({"--socket", socket, "--save-on", "TERM", file, "--x-record", files.path("record")});
  EXPECT_EQ(2, one.wait());
  EXPECT_NE(std::string::npos, one.said().find("a recording is being written")) << one.said();

  write_file(file, state_bytes(3, std::byte{1}));
  const std::string control = files.path("control");
  for (const char* const restarts : {"off", "on"}) {
    start_saving({"--control", control, "--restarts", restarts});
    EXPECT_TRUE(control_caller(control)
                    .ask("set", {{"name", "x-fault-command"}, {"value", "any:silent"}})
                    .value("ok", false));
    c.disconnect();
    EXPECT_EQ(1, server.stop()) << restarts;
    EXPECT_NE(std::string::npos, server.said().find("no state is saved: commands have a judge"))
        << server.said();
    EXPECT_EQ(state_bytes(3, std::byte{1}), read_file(file)) << "the older file stays";
  }
}

TEST_F(saved_server, a_file_that_cannot_be_written_is_named_at_the_start) {
  served_program one;
  one.start({"--socket", socket, "--save-on", "TERM", "/nowhere/state"});
  EXPECT_EQ(1, one.wait());
  EXPECT_NE(std::string::npos, one.said().find("--save-on TERM /nowhere: No such file"))
      << one.said();
  one.start({"--socket", socket, "--save-on", "TERM", files.path("")});
  EXPECT_EQ(1, one.wait());
  EXPECT_NE(std::string::npos, one.said().find("no regular file")) << one.said();
  one.start({"--socket", socket, "--save-on", "HUP", file});
  EXPECT_EQ(2, one.wait());
  EXPECT_NE(std::string::npos, one.said().find("--save-on HUP: the signal is TERM")) << one.said();
}

TEST_F(saved_server, files_that_are_no_state_are_refused_by_name) {
  save_one();
  const state_bytes good = read_file(file);
  expect_refusal({}, 2, "it is no state of a server: it does not begin with its mark");
  expect_refusal(state_bytes(100), 2, "it is no state of a server");
  for (const std::size_t left : {std::size_t{17}, std::size_t{60}, good.size() - 1}) {
    SCOPED_TRACE(left);
    expect_refusal({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(left)}, 2,
                   "it is cut");
  }
  state_bytes wrong = good;
  wrong[wrong.size() / 2] ^= std::byte{1};
  expect_refusal(wrong, 2, "section adapter is damaged: its checksum differs");
  wrong = good;
  wrong.push_back(std::byte{0});
  expect_refusal(wrong, 2, "1 bytes follow its end");
  wrong = good;
  wrong[15] = std::byte{2};
  expect_refusal(wrong, 2, "version 2; this build reads versions 1 to 1");
  served_program one;
  one.start({"--socket", socket, "--load", files.path("nothing")});
  EXPECT_EQ(1, one.wait());
  EXPECT_NE(std::string::npos, one.said().find("nothing: No such file")) << one.said();
  one.start({"--socket", socket, "--load", files.path("")});
  EXPECT_EQ(1, one.wait());
  EXPECT_NE(std::string::npos, one.said().find("it is no regular file")) << one.said();
}

TEST_F(saved_server, other_options_are_refused_with_both_values) {
  save_one();
  const state_bytes good = read_file(file);
  expect_refusal(good, 2, "variant is 0x0 in the state, and 0x1 in this server",
                 {"--variant", "connectx3"});
  expect_refusal(good, 2, "options: link1 is 0x0 in the state, and link1 is 0x1 in this adapter",
                 {"--link1", "eth"});
  expect_refusal(good, 2, "flr is 0x1 in the state, and 0x0 in this server", {"--flr", "off"});
  expect_refusal(good, 2, "x-device-id is 0x0 in the state, and 0x1003 in this server",
                 {"--x-device-id", "0x1003"});
  expect_refusal(good, 2, "x-msix is 0x1 in the state, and 0x0 in this server",
                 {"--x-msix", "off", "--restarts", "on"});
  expect_refusal(good, 2, "commands have a judge", {"--x-fault-command", "any:silent"});
}

// A state with a section of another one, or with a model's stream of a newer build.
TEST_F(saved_server, made_up_sections_are_refused_by_name) {
  save_one();
  const state_bytes good = read_file(file);
  const std::vector<state_section> all = sections_of(good);
  ASSERT_EQ(4u, all.size());
  const auto written = [](std::vector<state_section> s) {
    return device_server::write_state_stream(s);
  };
  expect_refusal(written({all[0], all[1], all[2]}), 2, "section adapter is missing");
  expect_refusal(written({all[0], all[2], all[1], all[3]}), 2,
                 "section function is not known, or not in its place");
  expect_refusal(written({all[0], all[1], all[2], all[3], {"more", {}}}), 2,
                 "section more is not known");
  expect_refusal(written({all[0], all[1], {all[2].name, all[2].bytes.first(9)}, all[3]}), 2,
                 "section function has a wrong length");
  expect_refusal(written({{all[0].name, all[0].bytes.first(9)}, all[1], all[2], all[3]}), 2,
                 "its options are cut");
  device_server::state_writer setting;
  setting.text("strict");
  setting.text("often");
  expect_refusal(written({all[0], {all[1].name, setting.written()}, all[2], all[3]}), 2,
                 "its setting strict is often: on or off");
  state_bytes newer(all[3].bytes.begin(), all[3].bytes.end());
  newer[14] = std::byte{77};
  expect_refusal(written({all[0], all[1], all[2], {all[3].name, newer}}), 2,
                 "version 77; this build reads");
}

/// The function and its model without a process.
struct loaded_function : ::testing::Test {
  struct one_adapter {
    one_adapter() {
      EXPECT_EQ("", device_server::finish(how));
      EXPECT_EQ("", function.begin());
    }
    device_server::settings how;
    device_server::session session;
    device_server::client_memory memory{session};
    device_server::adapter_function function{how, memory};
    device_server::served_adapter served{how, function};
  };
  one_adapter from, to;
};

TEST_F(loaded_function, has_the_pending_interrupts_and_the_masks) {
  using namespace device_server;
  const irq_set mask{sizeof(irq_set), irq_set_none | irq_set_mask, msix_irq, 3, 1};
  const std::array<std::byte, 2> enabled{std::byte{0}, std::byte{0x80}};
  from.function.write_region(configuration_region, msix_at + PCI_MSIX_FLAGS, enabled);
  ASSERT_EQ(0, from.function.signals().set(mask, {}, {}));
  from.function.signals().msix(3);
  ASSERT_EQ("", load_adapter(to.served, save_adapter(from.served)));
  EXPECT_EQ(1u << 3, to.function.signals().pending_byte(0));
  descriptor told(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int file = dup(told.get());
  std::vector<descriptor> files;
  files.emplace_back(file);
  const irq_set by_file{sizeof(irq_set), irq_set_eventfd | irq_set_trigger, msix_irq, 3, 1};
  ASSERT_EQ(0, to.function.signals().set(by_file, {}, std::move(files)));
  std::uint64_t count = 0;
  EXPECT_NE(8, read(told.get(), &count, sizeof count)) << "it is masked";
  const irq_set unmask{sizeof(irq_set), irq_set_none | irq_set_unmask, msix_irq, 3, 1};
  ASSERT_EQ(0, to.function.signals().set(unmask, {}, {}));
  EXPECT_EQ(8, read(told.get(), &count, sizeof count));
}

TEST_F(loaded_function, is_removed_if_the_saved_one_was) {
  from.function.remove(true);
  ASSERT_EQ("", load_adapter(to.served, save_adapter(from.served)));
  EXPECT_TRUE(to.function.removed());
  to.function.remove(false);
  EXPECT_FALSE(to.function.removed());
}

TEST_F(loaded_function, is_as_before_after_a_refusal) {
  using namespace device_server;
  const std::array<std::byte, 2> enabled{std::byte{6}, std::byte{0}};
  from.function.write_region(configuration_region, PCI_COMMAND, enabled);
  const auto state = save_adapter(from.served);
  std::vector<state_section> all = sections_of(state);
  std::vector<std::byte> wrong(all[3].bytes.begin(), all[3].bytes.end());
  wrong[wrong.size() / 2] ^= std::byte{1};
  all[3].bytes = wrong;
  const std::string why = load_adapter(to.served, write_state_stream(all));
  EXPECT_NE(std::string::npos, why.find("is damaged")) << why;
  EXPECT_FALSE(to.function.configuration().bus_master());
  EXPECT_EQ("", load_adapter(to.served, state));
  EXPECT_TRUE(to.function.configuration().bus_master());
}

}  // namespace
}  // namespace freehca::vfio_user
