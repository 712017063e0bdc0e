// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fixture.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>

#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::testing {

using namespace layouts;
using recording::placed;
using recording::record;
using recording::record_kind;

namespace {

/// Queue pairs are named by what their number has below the table's size; iPXE puts random bits
/// above it (hermon.h HERMON_QPN_RANDOM_MASK), which commands repeat and the adapter's subjects do
/// not.
constexpr std::uint32_t table_index(std::uint32_t qpn) {
  return qpn & 0xfff;
}

recording::recording unpacked(const std::string& name) {
  FILE* xz = popen(("xz -dc " FREEHCA_RECORDINGS "/" + name + ".jsonl.xz").c_str(), "r");
  std::string text;
  std::array<char, 1 << 16> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), xz)) != 0;)
    text.append(part.data(), n);
  EXPECT_EQ(pclose(xz), 0);
  std::istringstream from(text);
  return recording::load(from, name + ".jsonl");
}

}  // namespace

const fixture& fixture::named(const std::string& name) {
  static std::map<std::string, std::unique_ptr<fixture>> loaded;
  std::unique_ptr<fixture>& one = loaded[name];
  if (!one) one.reset(new fixture(name));
  return *one;
}

fixture::fixture(const std::string& name) : whole_(unpacked(name)) {
  std::ifstream file(FREEHCA_RECORDINGS "/" + name + ".txt");
  printed_ = {std::istreambuf_iterator<char>(file), {}};
  for (const record& r : whole_.records) take(r);
}

std::vector<image<cqe>> fixture::completed(std::uint32_t qpn, bool send) const {
  std::vector<image<cqe>> wanted;
  for (const found& f : all_) {
    if (f.where->what != "cqe") continue;
    const auto e = image<cqe>::from_bytes(f.bytes.data());
    if (e.get<&cqe::qpn>() == qpn && e.get<&cqe::is_send>() == send) wanted.push_back(e);
  }
  return wanted;
}

void fixture::take(const record& r) {
  if (r.kind == record_kind::command) last_[r.opcode] = &r;
  if (r.refused || (r.kind != record_kind::read && r.kind != record_kind::write)) return;
  if (r.what == "input_mailbox" || r.what == "output_mailbox") return mailbox(r);
  if (r.what == "eqe" || r.what == "cqe") return entry(r);
  if (r.what == "send_wqe") return send_wqe(r);
  if (r.what == "receive_wqe" || r.what == "srq_wqe" || r.what.find("_record") != std::string::npos)
    add(r, nullptr, r.data, recording::entry_of(r.what, r.data));
}

void fixture::mailbox(const record& r) {
  const record* c = last_[static_cast<opcode>(r.of)];
  if (c == nullptr) return;
  const bool output = r.what == "output_mailbox";
  const std::uint64_t begin = r.at - (output ? c->output : c->input);
  std::vector<placed> parts;
  for (placed p : recording::mailbox_of(*c, output)) {
    if (p.offset < begin || p.offset + p.what.bytes > begin + r.data.size()) continue;
    p.offset -= begin;
    parts.push_back(p);
  }
  if (c->opcode == opcode::rst2init_qp && !parts.empty()) {
    const auto context = image<qpc>::from_bytes(r.data.data() + parts.back().offset);
    const queue_pair_shape shape{context.get<&qpc::service>(),
                                 static_cast<unsigned>(context.get<&qpc::log_sq_size>())};
    shapes_[c->input_modifier & 0xffffff] = shape;
    shapes_[table_index(c->input_modifier)] = shape;
  }
  add(r, c, r.data, std::move(parts));
}

/// An entry comes in two writes.
void fixture::entry(const record& r) {
  if (r.data.size() == eqe::bytes - 8) head_ = r.data;
  if (r.data.size() != 8) return;
  std::vector<std::byte> both = head_;
  both.insert(both.end(), r.data.begin(), r.data.end());
  add(r, nullptr, both, recording::entry_of(r.what, both));
}

/// As many bytes as the WQE has, and only if it was software's to give.
void fixture::send_wqe(const record& r) {
  const auto shape = shapes_.find(r.of);
  if (shape == shapes_.end() || r.data.size() < wqe_ctrl::bytes) return;
  const auto control = image<wqe_ctrl>::from_bytes(r.data.data());
  const bool pass = (r.index >> shape->second.log_sq_size & 1) != 0;
  const std::size_t size = control.get<&wqe_ctrl::ds>() * wqe_unit;
  if (control.get<&wqe_ctrl::owner>() != pass || size > r.data.size()) return;
  std::vector<std::byte> wqe(r.data.begin(), r.data.begin() + static_cast<std::ptrdiff_t>(size));
  std::vector<placed> parts = recording::entry_of(r.what, wqe, shape->second.service);
  add(r, nullptr, std::move(wqe), std::move(parts));
}

void fixture::add(const record& r, const record* c, std::vector<std::byte> bytes,
                  std::vector<placed> parts) {
  if (r.what == "send_wqe" || r.what == "receive_wqe" || r.what == "srq_wqe") {
    std::vector<std::byte>& before = requests_[{r.what, {r.of, r.index}}];
    if (before == bytes) return;
    before = bytes;
  }
  all_.push_back({&r, c, std::move(bytes), std::move(parts)});
}

}  // namespace freehca::testing
