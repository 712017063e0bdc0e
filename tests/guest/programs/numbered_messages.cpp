// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// numbered_messages: moves messages that carry their number from one host to another, by sends,
// RDMA writes, RDMA reads or atomics, and says what became of them: each once and in order, or some
// lost, and none changed. Exit status 0 when the service has kept what it promises, also where a
// reliable connection has ended because its retries were over; 3, on both hosts, when that was
// before --least of its messages were through.
#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "link_end.hpp"

namespace {

constexpr std::uint16_t tcp_port = 18515;
/// A datagram is one packet, at the least MTU that a port may have been given.
constexpr std::uint32_t datagram_bytes_max = 2048;
constexpr unsigned requests_under_way = 16;
constexpr std::chrono::seconds answer_patience{60};
constexpr std::chrono::milliseconds quiet{500};
constexpr int ended_too_soon = 3;

struct settings {
  std::string device = "mlx4_0", server;
  ibv_qp_type type = IBV_QPT_RC;
  ibv_wr_opcode operation = IBV_WR_SEND;
  unsigned messages = 400, least = 0;
  std::uint32_t bytes_max = 16384;
  bool all = false;

  bool atomic() const { return operation == IBV_WR_ATOMIC_FETCH_AND_ADD; }
};

/// The n-th message: its length is between 4 and the most, and each byte is told by its place.
std::vector<std::byte> message(std::uint32_t n, std::uint32_t bytes_max) {
  std::uint32_t state = n * 2654435761U + 1;
  std::vector<std::byte> m(4 + state % (bytes_max - 3));
  for (std::byte& b : m) {
    state = state * 1664525 + 1013904223;
    b = static_cast<std::byte>(state >> 24);
  }
  std::memcpy(m.data(), &n, sizeof n);
  return m;
}

/// What the client tells the server at the end.
struct outcome {
  unsigned completed = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;

  bool good() const { return status == IBV_WC_SUCCESS; }
  /// A bad link may end a connection in one way alone, and one that is not so bad must not.
  bool allowed(const link_end& end, const settings& s) const {
    return good() || (end.reliable() && !s.all && status == IBV_WC_RETRY_EXC_ERR);
  }
};

/// A link on which next to nothing arrives shows nothing of the rest.
bool enough(std::uint64_t arrived, const settings& s) {
  if (arrived >= s.least) return true;
  fmt::print("{} messages have arrived, fewer than {}\n", arrived, s.least);
  return false;
}

bool read_back_right(link_end& end, const settings& s, std::uint32_t n) {
  const std::vector<std::byte> wanted = message(n, s.bytes_max);
  return std::equal(wanted.begin(), wanted.end(), end.slot(n % requests_under_way));
}

int be_client(link_end& end, exchange& peer, const settings& s) {
  unsigned posted = 0, changed = 0;
  outcome o;
  while (o.completed < s.messages && o.good()) {
    for (; posted < s.messages && posted - o.completed < requests_under_way; ++posted) {
      const std::vector<std::byte> m = message(posted, s.bytes_max);
      std::byte* const slot = end.slot(posted % requests_under_way);
      if (s.operation == IBV_WR_RDMA_READ) std::memset(slot, 0, m.size());
      else std::copy(m.begin(), m.end(), slot);
      end.request(s.operation, posted, s.atomic() ? sizeof(std::uint64_t) : m.size());
    }
    ibv_wc completion{};
    if (!end.next(completion, answer_patience)) {
      fmt::print("no completion after {} of {} messages\n", o.completed, s.messages);
      return EXIT_FAILURE;
    }
    if (completion.status != IBV_WC_SUCCESS) {
      o.status = completion.status;
      break;
    }
    const auto n = static_cast<std::uint32_t>(completion.wr_id);
    if (s.operation == IBV_WR_RDMA_READ && !read_back_right(end, s, n)) ++changed;
    if (s.atomic()) {
      // Each sees what the one before it left.
      std::uint64_t found = 0;
      std::memcpy(&found, end.slot(n % requests_under_way), sizeof found);
      if (found != n) ++changed;
    }
    ++o.completed;
  }
  peer.swap({o.completed, static_cast<std::uint32_t>(o.status), 0, 0, 0});
  fmt::print("{} of {} requests completed, {} changed; {}\n", o.completed, s.messages, changed,
             ibv_wc_status_str(o.status));
  if (changed != 0 || !o.allowed(end, s)) return EXIT_FAILURE;
  return end.reliable() && !enough(o.completed, s) ? ended_too_soon : EXIT_SUCCESS;
}

int check_sum(link_end& end, const outcome& o, const settings& s) {
  std::uint64_t sum = 0;
  std::memcpy(&sum, end.slot(0), sizeof sum);
  fmt::print("the sum is {}, of {}; {}\n", sum, o.completed, ibv_wc_status_str(o.status));
  const bool right = o.good() ? sum == o.completed : sum >= o.completed;
  return right && o.allowed(end, s) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int check_messages(link_end& end, const outcome& o, const settings& s) {
  unsigned received = 0, changed = 0, twice = 0, out_of_order = 0, failed = 0;
  std::set<std::uint32_t> seen;
  std::uint32_t expected = 0;
  ibv_wc completion{};
  while (end.next(completion, quiet)) {
    if (completion.status != IBV_WC_SUCCESS) {
      ++failed;
      continue;
    }
    ++received;
    const bool written = completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    const std::uint32_t header = end.datagrams() ? link_end::grh_bytes : 0;
    std::uint32_t number = ntohl(completion.imm_data);
    if (written && number >= s.messages) {
      ++changed;
      continue;
    }
    const std::byte* const bytes = end.slot(written ? number : completion.wr_id) + header;
    if (!written) std::memcpy(&number, bytes, sizeof number);
    const std::vector<std::byte> sent = message(number, s.bytes_max);
    if (number >= s.messages || completion.byte_len != sent.size() + header ||
        !std::equal(sent.begin(), sent.end(), bytes)) {
      ++changed;
      continue;
    }
    if (!seen.insert(number).second) ++twice;
    else if (number < expected) ++out_of_order;
    expected = std::max(expected, number + 1);
  }
  const auto distinct = static_cast<std::uint32_t>(seen.size());
  fmt::print("{} of {} messages received, {} lost, {} changed, {} twice, {} out of order; {}\n",
             received, s.messages, s.messages - distinct, changed, twice, out_of_order,
             ibv_wc_status_str(o.status));
  if (changed != 0 || failed != 0 || !o.allowed(end, s)) return EXIT_FAILURE;
  if (!end.reliable()) return enough(distinct, s) ? EXIT_SUCCESS : EXIT_FAILURE;
  const bool once_and_in_order = twice == 0 && out_of_order == 0 && expected == distinct;
  const bool whole = o.good() ? distinct == s.messages : distinct >= o.completed;
  return once_and_in_order && whole ? EXIT_SUCCESS : EXIT_FAILURE;
}

int check_reads(link_end& end, const outcome& o, const settings& s) {
  fmt::print("{} of {} messages read; {}\n", o.completed, s.messages, ibv_wc_status_str(o.status));
  return o.allowed(end, s) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int judge(link_end& end, const outcome& o, const settings& s) {
  if (s.atomic()) return check_sum(end, o, s);
  return s.operation == IBV_WR_RDMA_READ ? check_reads(end, o, s) : check_messages(end, o, s);
}

int be_server(link_end& end, exchange& peer, const settings& s) {
  const endpoint told = peer.swap({});
  const outcome o{told.qpn, static_cast<ibv_wc_status>(told.first_psn)};
  const int verdict = judge(end, o, s);
  return verdict == EXIT_SUCCESS && end.reliable() && !enough(o.completed, s) ? ended_too_soon
                                                                              : verdict;
}

/// Each receive is there before the first message is sent, so that none is lost for want of one.
void prepare_server(link_end& end, const settings& s) {
  for (unsigned n = 0; n < s.messages; ++n) {
    if (s.operation == IBV_WR_RDMA_READ) {
      const std::vector<std::byte> m = message(n, s.bytes_max);
      std::copy(m.begin(), m.end(), end.slot(n));
    } else if (!s.atomic()) {
      end.receive_into(n);
    }
  }
  // For datagrams that come twice.
  if (!end.reliable())
    for (unsigned n = s.messages; n < 2 * s.messages; ++n) end.receive_into(n);
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  const std::map<std::string, ibv_qp_type> services = {
      {"rc", IBV_QPT_RC}, {"uc", IBV_QPT_UC}, {"ud", IBV_QPT_UD}};
  const std::map<std::string, ibv_wr_opcode> operations = {{"send", IBV_WR_SEND},
                                                           {"write", IBV_WR_RDMA_WRITE_WITH_IMM},
                                                           {"read", IBV_WR_RDMA_READ},
                                                           {"add", IBV_WR_ATOMIC_FETCH_AND_ADD}};
  CLI::App options{
      "Numbered messages from the client, which is given the server's IPv4 address, to the server; "
      "or from the server, where the client reads."};
  options.add_option("-d,--device", s.device, "the RDMA device, its port 1")->capture_default_str();
  options.add_option("-c,--service", s.type, "rc, uc or ud")
      ->transform(CLI::CheckedTransformer(services, CLI::ignore_case));
  options.add_option("-o,--operation", s.operation, "send; rc and uc: write; rc: read, add")
      ->transform(CLI::CheckedTransformer(operations, CLI::ignore_case));
  options.add_option("-n,--messages", s.messages, "how many")
      ->check(CLI::Range(1, 4000))
      ->capture_default_str();
  options.add_option("-s,--bytes", s.bytes_max, "the most bytes of a message, up to 2048 over UD")
      ->check(CLI::Range(8, 1 << 20))
      ->capture_default_str();
  options
      .add_option("-l,--least", s.least,
                  "fail too when fewer messages than that come through, each counted once")
      ->capture_default_str();
  options.add_flag("-a,--all", s.all,
                   "fail too when a connection ends because its retries are over");
  options.add_option("server", s.server, "IPv4 address; without it this is the server");
  CLI11_PARSE(options, argc, argv);
  if (s.type == IBV_QPT_UD) s.bytes_max = std::min(s.bytes_max, datagram_bytes_max);

  const bool serves = s.server.empty();
  link_end end(s.device, s.type, serves ? 2 * s.messages : requests_under_way, s.bytes_max);
  end.to_init();
  if (serves) prepare_server(end, s);
  exchange peer(s.server, tcp_port);
  end.to_rts(peer.swap(end.address()));
  peer.meet();
  return serves ? be_server(end, peer, s) : be_client(end, peer, s);
}
