// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "field_compare.hpp"

#include <algorithm>
#include <sstream>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/recording/rows.hpp>
#include <freehca/recording/volatile_fields.hpp>

#include "management_structures.hpp"

namespace freehca::recording {

using namespace layouts;

namespace {

std::string hex(std::uint64_t n) {
  std::ostringstream text;
  text << "0x" << std::hex << n;
  return text.str();
}

std::string value_of(const field& f) {
  const std::string text = freehca::recording::words_of(f);
  return text.substr(text.find(" = ") + 3);
}

std::string words_of_status(command_status s) {
  return hex(static_cast<std::uint64_t>(s)) + " (" + name_of(s) + ")";
}

}  // namespace

bool field_comparison::counts(const std::string& name, bool differs) {
  ++to_.compared;
  if (!differs) return false;
  if (find_volatile(name) == nullptr) return true;
  ++to_.left_out;
  return false;
}

void field_comparison::add(const std::string& where, const std::string& field,
                           const std::string& card, const std::string& model, const page_row& row) {
  to_.differences.push_back({here_->time, here_->line, step_, where, field, card, model, row});
}

template <class Rows>
void field_comparison::fields(const std::string& where, const std::vector<placed>& parts,
                              const std::vector<std::byte>& card,
                              const std::vector<std::byte>& model, Rows&& rows) {
  for (const placed& p : parts) {
    if (p.offset + p.what.bytes > std::min(card.size(), model.size())) continue;
    const std::vector<field> one = decode(p.what, card.data() + p.offset);
    const std::vector<field> two = decode(p.what, model.data() + p.offset);
    for (std::size_t i = 0; i < one.size(); ++i) {
      const bool differs = one[i].value != two[i].value || one[i].bytes != two[i].bytes;
      if (!counts(one[i].name, differs)) continue;
      const std::uint64_t bits = (one[i].value ^ two[i].value) << one[i].row->lo;
      for (const page_row& r : rows(one[i].name, bits))
        add(where, one[i].name, value_of(one[i]), value_of(two[i]), r);
    }
  }
}

void field_comparison::configuration(const record& call, std::uint64_t card, std::uint64_t model) {
  // Two digits always: a pattern of volatile_fields.cpp must not take 0x4 for 0x40.
  const std::string name =
      std::string("configuration.0x") + (call.at < 0x10 ? "0" : "") + hex(call.at).substr(2);
  if (counts(name, card != model))
    add("configuration space", name, hex(card), hex(model), row_of_configuration(call.at));
}

void field_comparison::register_read(const record& call, std::uint64_t card, std::uint64_t model) {
  const std::string name = call.name.substr(call.name.find('_') + 1) + "." + hex(call.at);
  const bool immediate = call.at >= bar0::hcr && call.at < bar0::hcr + hcr::bytes;
  if (counts(name, card != model))
    add(immediate ? posted_.name : "register", immediate ? "immediate output" : name, hex(card),
        hex(model),
        immediate ? row_of_output(posted_.opcode, "immediate output", 0)
                  : row_of_register(call.at));
}

void field_comparison::command_register(const record&, std::uint64_t card, std::uint64_t model) {
  const auto status_of = [](std::uint64_t word) {
    return static_cast<command_status>(word >> hcr{}.status.lo & hcr{}.status.mask());
  };
  const command_status one = status_of(card), two = status_of(model);
  if (posted_.event) {
    counts("hcr.status_of_event", one != two);
  } else if (counts("hcr.status", one != two)) {
    add(posted_.name, "status", words_of_status(one), words_of_status(two),
        row_of_status(posted_.opcode, one, two));
  }
  const auto same = [&](const char* name, const bits& b) {
    const std::uint64_t was = card >> b.lo & b.mask(), is = model >> b.lo & b.mask();
    if (counts(name, was != is))
      add(posted_.name, name, hex(was), hex(is), row_of_register(bar0::hcr_status));
  };
  same("hcr.e", hcr{}.e);
  same("hcr.t", hcr{}.t);
  same("hcr.opcode_modifier", hcr{}.opcode_modifier);
  same("hcr.opcode", hcr{}.opcode);
  const bool busy = (model >> hcr{}.go.lo & 1) != 0;
  if (counts("hcr.go", busy))
    add(posted_.name, "hcr.go", "0x0", "0x1 for a minute",
        row_of_output(posted_.opcode, "hcr.go", 0));
}

void field_comparison::unanswered(const record& command, std::uint64_t model,
                                  const std::string& when) {
  if (!counts("hcr.go", true)) return;
  const record* const here = here_;
  here_ = &command;
  add(command.name, "answer", "none until " + when,
      words_of_status(static_cast<command_status>(model >> hcr{}.status.lo & hcr{}.status.mask())),
      row_of_output(command.opcode, "hcr.go", 0));
  here_ = here;
}

void field_comparison::output(const record& written, const record& command,
                              const std::vector<std::byte>& model) {
  const std::vector<placed> parts = output_of(command, written.data);
  fields(command.name, parts, written.data, model,
         [&command](const std::string& name, std::uint64_t bits) {
           return rows_of_output(command.opcode, name, bits);
         });
  reserved(command.name, command.name, parts, written.data, model,
           [&command](const std::string& name) { return row_of_output(command.opcode, name, 0); });
}

/// What no table names is told by its place.
template <class Row>
void field_comparison::reserved(const std::string& where, const std::string& what,
                                const std::vector<placed>& parts, std::vector<std::byte> card,
                                std::vector<std::byte> model, Row&& row) {
  for (const placed& p : parts) {
    if (p.offset + p.what.bytes > card.size()) continue;
    for (std::vector<std::byte>* rest : {&card, &model}) {
      std::vector<field> all = decode(p.what, rest->data() + p.offset);
      for (field& f : all) {
        f.value = 0;
        std::fill(f.bytes.begin(), f.bytes.end(), std::byte{0});
      }
      encode(all, rest->data() + p.offset);
    }
  }
  constexpr std::size_t word = 4;
  for (std::size_t at = 0; at + word <= std::min(card.size(), model.size()); at += word) {
    const auto one = load_be<std::uint32_t>(card.data() + at);
    const auto two = load_be<std::uint32_t>(model.data() + at);
    const std::string name = "reserved." + what + "." + hex(at);
    if (one != two && counts(name, true))
      add(where, "reserved bits of the word at " + hex(at), hex(one), hex(two), row(name));
  }
}

void field_comparison::entry(const record* place, const std::string& step, const std::string& what,
                             std::uint64_t queue, const record* command,
                             const std::vector<std::byte>* card,
                             const std::vector<std::byte>* model) {
  if (place != nullptr) here_ = place;
  step_ = step;
  const bool event = what == "eqe";
  const std::vector<std::byte>& either = card != nullptr ? *card : *model;
  std::string where = (event ? "event queue " : "completion queue ") + hex(queue);
  page_row row;
  bool plain_send = false;
  if (event) {
    const auto type = image<eqe>::from_bytes(either.data()).get<&eqe::event_type>();
    row = row_of_event(static_cast<std::uint8_t>(type));
  } else {
    const auto e = image<cqe>::from_bytes(either.data());
    const auto code = static_cast<std::uint8_t>(e.get<&cqe::opcode>());
    const auto syndrome = image<cqe_error>::from_bytes(either.data()).get<&cqe_error::syndrome>();
    row = row_of_completion(code, e.get<&cqe::is_send>(), static_cast<std::uint8_t>(syndrome));
    plain_send = e.get<&cqe::is_send>() && code < 0x10;
  }
  if (card == nullptr || model == nullptr) {
    if (counts(what, true))
      add(where, what, card == nullptr ? "wrote none" : "wrote one",
          model == nullptr ? "wrote none" : "wrote one", row);
    return;
  }
  if (command != nullptr) where = command->name;
  std::vector<placed> parts = entry_of(what, *card);
  // A name of its own, so that what a send's completion does not tell can be named as volatile.
  if (plain_send)
    for (placed& p : parts) p.what.name = "cqe_send";
  const auto card_error = image<eqe_command>::from_bytes(card->data());
  const auto model_error = image<eqe_command>::from_bytes(model->data());
  using some = std::vector<page_row>;
  fields(where, parts, *card, *model, [&](const std::string& name, std::uint64_t bits) {
    if (command == nullptr) return some{row};
    if (name == "eqe_command.status")
      return some{row_of_status(command->opcode, card_error.get<&eqe_command::status>(),
                                model_error.get<&eqe_command::status>())};
    return rows_of_output(command->opcode, name, bits);
  });
  reserved(where, plain_send ? "cqe_send" : what, parts, *card, *model,
           [&row](const std::string&) { return row; });
}

}  // namespace freehca::recording
