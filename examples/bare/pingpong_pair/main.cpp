// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Exchanges messages with another machine on the same cable or fabric. The user types the orders on
// the serial line: rc or ud, then the address that the other side has printed.
#include <new>

#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>
#include <freehca/bare/typed_line.hpp>

#include "bring_up.hpp"
#include "pair.hpp"
#include "take_lid.hpp"

namespace freehca::bare {

const char image_name[] = "pingpong_pair";

namespace {

constexpr budget size = players::size;

// Time for a person to walk from one machine to the other.
constexpr std::uint64_t typing_limit = clock::seconds(300);
constexpr std::uint64_t active_limit = clock::seconds(30);
constexpr unsigned most_tries = 3;
constexpr std::uint64_t last_unicast_lid = 0xbfff;  // IBTA 1.3, 4.1.1

// Constructed in place, because an image runs no global constructors and no destructors.
struct driver {
  port in;
  device hca;
  verbs objects;
};
alignas(driver) std::byte room[sizeof(driver)];
alignas(16) std::byte device_storage[device::storage_bytes(size)];
alignas(16) std::byte verbs_storage[verbs::storage_bytes(size, pair::objects)];

/// A dialogue over the serial line.
class dialogue {
 public:
  dialogue(driver& d, unsigned number)
      : driver_(d), number_(number), pair_(d.hca, d.objects, number) {}
  /// Runs until the user types "end". Returns false after a failure, whose reason was printed.
  bool hold();

 private:
  /// wrong: the line was refused with a message; the user may try again.
  enum class answer : std::uint8_t { goes_on, ends, wrong, failed };

  const char* ask(const char* for_what);
  bool refuse(const char* why);
  answer obey(words text);
  answer take(std::uint16_t lid);
  answer session(layouts::qp_service service);
  answer fail(const char* at, const char* what, const char* remedy, status s);
  bool read(pair_order* to);
  void tell_port() const;
  void tell_address() const;

  driver& driver_;
  unsigned number_;
  pair pair_;
  typed_line typed_;
  unsigned tries_ = 0;  // lines refused since the last valid one
};

/// Returns the next line, or null after a failure, whose reason was printed.
const char* dialogue::ask(const char* for_what) {
  line("ask") << "for " << for_what;
  std::uint64_t end = clock::after(machine::now(), typing_limit);
  for (;;) {
    char c = 0;
    const bool came = machine::get(&c);
    // This also ends a line on which bytes never stop.
    if (machine::now() >= end) {
      fail("waiting for a line", "none was ended on the serial line", "type one within 300 s",
           transport_error::timeout);
      return nullptr;
    }
    if (!came) {
      driver_.objects.poll();
      if (!driver_.hca.up()) {
        fail("waiting for a line", "the device is not up any more", "boot the image bringup",
             transport_error::gone);
        return nullptr;
      }
      machine::pause();
      continue;
    }
    if (!typed_.take(c)) continue;
    end = clock::after(machine::now(), typing_limit);
    if (typed_.wrong() == nullptr) {
      line("line") << typed_.text();
      return typed_.text();
    }
    if (!refuse(typed_.wrong())) return nullptr;
    line("ask") << "for " << for_what;
  }
}

/// Prints the reason. Returns whether the user may try again.
bool dialogue::refuse(const char* why) {
  line("REFUSED") << why;
  if (++tries_ < most_tries) return true;
  fail("reading a line", why, "type what is asked for; docs/bring-up-bare.md has an example",
       driver_error::bad_argument);
  return false;
}

dialogue::answer dialogue::fail(const char* at, const char* what, const char* remedy, status s) {
  tell({at, what, remedy, s});
  tell_registers(driver_.in, driver_.hca, registers::now(driver_.in));
  return answer::failed;
}

void dialogue::tell_port() const {
  const port_attributes& p = driver_.hca.port(number_);
  line("port") << number_ << ", Active, LID " << p.lid << ", SM LID " << p.sm_lid;
}

bool dialogue::hold() {
  for (;;) {
    const char* const text = ask("rc, ud, lid NUMBER or end");
    if (text == nullptr) return false;
    const answer a = obey(words(text));
    if (a == answer::goes_on) tries_ = 0;
    if (a == answer::ends) return true;
    if (a == answer::failed) return false;
  }
}

dialogue::answer dialogue::obey(words text) {
  std::uint64_t lid = 0;
  const bool rc = text.take("rc"), ud = !rc && text.take("ud");
  if ((rc || ud) && text.done())
    return session(rc ? layouts::qp_service::rc : layouts::qp_service::ud);
  if (text.take("lid") && text.take_number(1, last_unicast_lid, &lid) && text.done())
    return take(static_cast<std::uint16_t>(lid));
  if (text.take("end") && text.done()) return answer::ends;
  return refuse("it is none of these") ? answer::wrong : answer::failed;
}

dialogue::answer dialogue::take(std::uint16_t lid) {
  if (driver_.hca.port(number_).active()) {
    constexpr const char* why =
        "the port is active already, and has a LID: a subnet manager gave it one, or you did";
    return refuse(why) ? answer::wrong : answer::failed;
  }
  if (const status s = take_lid(driver_.hca, driver_.objects, number_, lid, active_limit); !s.ok())
    return fail("taking a LID", "the port did not become active",
                "look at the cable, and boot the other end of it", s);
  tell_port();
  return answer::goes_on;
}

dialogue::answer dialogue::session(layouts::qp_service service) {
  status s = await_active(driver_.hca, driver_.objects, number_, active_limit);
  if (s.is(transport_error::timeout)) {
    constexpr const char* why =
        "the port is not active: start a subnet manager, or, on a cable from host to host, type "
        "lid NUMBER at each end, with two numbers";
    return refuse(why) ? answer::wrong : answer::failed;
  }
  if (!s.ok())
    return fail("waiting for the port", "the device is not up any more", "boot the image bringup",
                s);
  tries_ = 0;
  tell_port();
  s = pair_.close();
  if (s.ok()) s = pair_.open(service);
  pair_order order;
  if (s.ok()) {
    tell_address();
    if (!read(&order)) return answer::failed;
    s = pair_.meet(order);
  }
  if (s.ok()) {
    line("ready") << (order.client ? "and begins" : "for the other side");
    s = pair_.play(order);
  }
  if (s.ok()) return answer::goes_on;
  return fail(pair_.doing(), pair_.wrong() != nullptr ? pair_.wrong() : "it ended early",
              "look at the other side; are sizes and counts the same?", s);
}

void dialogue::tell_address() const {
  const pair_address here = pair_.address();
  line to("address");
  to.digits(here.lid, 4) << ":";
  to.digits(here.qpn, 6) << ":";
  to.digits(here.psn, 6) << ":";
  to.digits(0, 16).digits(0, 16);
}

/// Reads an order. Returns false if none was typed; the reason was printed.
bool dialogue::read(pair_order* to) {
  for (;;) {
    const char* const text = ask("server|client SIZE COUNT ADDRESS");
    if (text == nullptr) return false;
    const char* const wrong = read_order(text, pair_.most(), to);
    if (wrong == nullptr) return true;
    if (!refuse(wrong)) return false;
  }
}

bool bring_up(driver& d) {
  device_setup setup;
  setup.platform = d.in.platform();
  setup.budget = size;
  setup.storage = device_storage;
  setup.storage_bytes = sizeof device_storage;
  setup.take_over = asked_for("take_over");
  // Bring-up does not wait for the link: the other end may start much later. The dialogue waits.
  setup.port_wait = setup.link_wait = 0;
  std::uint64_t since_begin = 0, since_reset = 0;
  if (!bare::bring_up(d.in, d.hca, setup, &since_begin, &since_reset)) return false;
  line to("up");
  to << "in ";
  to.seconds(since_begin);
  return true;
}

bool talk(driver& d) {
  const unsigned number = asked_for("port_2") ? 2 : 1;
  if (number > d.hca.info().ports || d.hca.port(number).link_layer != layouts::port_type::ib) {
    tell({"choosing the port",
          "it is not there, or no InfiniBand port",
          "the word port_2 on the command line chooses the second; boot the image bringup",
          {}});
    return false;
  }
  if (const status s = d.objects.open(d.hca, pair::objects, verbs_storage, sizeof verbs_storage);
      !s.ok()) {
    tell({"opening the verbs", "there is no room for the objects", "see its status", s});
    return false;
  }
  return dialogue(d, number).hold();
}

}  // namespace

bool run_image() {
  driver& d = *new (room) driver;
  if (const trouble why = d.in.open(device::dma_bytes(size)); !why.ok()) {
    tell(why);
    port::quieten_all();
    return false;
  }
  tell_place(d.in);
  const bool passed = bring_up(d) && talk(d);
  const bool down = tell_down(d.hca);
  // Objects that were left in use were released by the reset.
  if (d.objects.is_open()) static_cast<void>(d.objects.close());
  line("arena") << d.in.arena_bytes_used() << " bytes were used";
  d.hca.close();
  return d.in.quieten() && passed && down;
}

}  // namespace freehca::bare
