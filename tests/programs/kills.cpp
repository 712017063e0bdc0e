// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// kills MAILBOX PLACE LIFE SEED [fork]: one of four processes under RC traffic of all with all.
// Each may be killed. Its lines on standard output:
//   slot N              the device is open; N names the process's slot of the fabric
//   verified P L        twenty messages of the process at place P, in its life L, came unchanged
//   ended P L STATUS    the connection with it ended with this ibv_wc_status
//   bad TEXT            a fault
// It ends when its standard input does. With "fork" a child lives on when the process is killed.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "checks.hpp"
#include "endpoint.hpp"
#include "kills_mailbox.hpp"

using namespace programs;

namespace {

constexpr std::size_t longest = 4000;
constexpr unsigned sends = 4, receives = 16, enough = 20;

struct header {
  std::uint32_t place, life;
  std::uint64_t number;
};

std::uint64_t seed_of(const header& h) {
  return (std::uint64_t{h.place} << 56) ^ (std::uint64_t{h.life} << 40) ^ h.number;
}

void tell(const char* what, unsigned place, unsigned life, int status = -1) {
  if (status < 0) std::printf("%s %u %u\n", what, place, life);
  else std::printf("%s %u %u %d\n", what, place, life, status);
}

/// The queue pair towards one other place, which is replaced when it fails.
class connection {
 public:
  connection(opened_device& device, mailbox& mail, unsigned own, unsigned life, unsigned peer)
      : device_(device), mail_(mail), own_(own), life_(life), peer_(peer) {
    memory_ = std::make_unique<buffer>(1, longest * (sends + receives));
    key_ =
        memory_->register_part(device.pd, 0, memory_->bytes.size(), IBV_ACCESS_LOCAL_WRITE)->lkey;
    begin();
  }

  void work(std::uint64_t& random) {
    const published theirs = mail_.look(peer_, own_);
    if (bound_.life == 0) bind(theirs);
    else if (theirs.own != bound_ && theirs.own.life == bound_.life) return begin();
    if (bound_.life == 0) return;
    take_receives();
    if (theirs.bound == name_) send(random);
    take_sends();
  }

 private:
  void begin() {
    pair_.reset();
    pair_.emplace(device_, pair_options{.timeout = 15, .depth = 32});
    name_ = {static_cast<std::uint16_t>(life_), device_.lid, pair_->qp->qp_num};
    bound_ = {};
    sent_ = received_ = 0;
    outstanding_ = 0;
    mail_.publish(own_, peer_, {name_, bound_});
  }

  /// The other queue pair may be bound to a former one of ours. Its process then makes another one.
  void bind(const published& theirs) {
    if (theirs.own.life == 0 || (theirs.bound.life != 0 && theirs.bound != name_)) return;
    bound_ = theirs.own;
    pair_->connect(address{bound_.lid, bound_.qpn, pair_->own().psn, {}});
    for (unsigned i = 0; i < receives; ++i) post_receive(i);
    mail_.publish(own_, peer_, {name_, bound_});
  }

  ibv_sge room(unsigned index, std::size_t bytes) const {
    return {memory_->at(index * longest), static_cast<std::uint32_t>(bytes), key_};
  }
  void post_receive(unsigned index) {
    require(pair_->post_receive(index, room(sends + index, longest)) == 0, "ibv_post_recv");
  }

  void send(std::uint64_t& random) {
    for (; outstanding_ < sends; ++outstanding_, ++sent_) {
      const unsigned index = static_cast<unsigned>(sent_ % sends);
      const std::size_t bytes = sizeof(header) + next_random(random) % (longest - sizeof(header));
      const header h{own_, life_, sent_};
      unsigned char* const at = &memory_->bytes[index * longest];
      const std::vector<unsigned char> data = pattern(seed_of(h), bytes - sizeof h);
      std::memcpy(at, &h, sizeof h);
      std::memcpy(at + sizeof h, data.data(), data.size());
      ibv_sge list = room(index, bytes);
      ibv_send_wr request{};
      request.sg_list = &list;
      request.num_sge = 1;
      request.opcode = IBV_WR_SEND;
      request.send_flags = IBV_SEND_SIGNALED;
      require(pair_->post(request) == 0, "ibv_post_send");
    }
  }

  void take_receives() {
    ibv_wc done{};
    while (ibv_poll_cq(pair_->receive_cq, 1, &done) == 1) {
      if (done.status != IBV_WC_SUCCESS) {
        if (done.status != IBV_WC_WR_FLUSH_ERR) std::printf("bad receive %d\n", done.status);
        continue;
      }
      check(&memory_->bytes[(sends + done.wr_id) * longest], done.byte_len);
      post_receive(static_cast<unsigned>(done.wr_id));
      if (++received_ == enough) tell("verified", peer_, bound_.life);
    }
  }

  void check(const unsigned char* at, std::size_t bytes) {
    header h;
    if (bytes < sizeof h) return static_cast<void>(std::puts("bad length"));
    std::memcpy(&h, at, sizeof h);
    if (h.place != peer_ || h.life != bound_.life || h.number != received_)
      std::printf("bad header: place %u, life %u, number %llu; expected %u, %u, %llu\n", h.place,
                  h.life, static_cast<unsigned long long>(h.number), peer_, unsigned{bound_.life},
                  static_cast<unsigned long long>(received_));
    const std::vector<unsigned char> data = pattern(seed_of(h), bytes - sizeof h);
    if (std::memcmp(data.data(), at + sizeof h, data.size()) != 0) std::puts("bad data");
  }

  void take_sends() {
    ibv_wc done{};
    while (ibv_poll_cq(pair_->send_cq, 1, &done) == 1) {
      --outstanding_;
      if (done.status == IBV_WC_SUCCESS) continue;
      tell("ended", peer_, bound_.life, done.status);
      return begin();
    }
  }

  opened_device& device_;
  mailbox& mail_;
  const unsigned own_, life_, peer_;
  std::unique_ptr<buffer> memory_;
  std::uint32_t key_ = 0;
  std::optional<endpoint> pair_;
  pair_name name_, bound_;
  std::uint64_t sent_ = 0, received_ = 0;
  unsigned outstanding_ = 0;
};

unsigned slot_of(const opened_device& device) {
  ibv_device_attr found{};
  require(ibv_query_device(device.context, &found) == 0, "ibv_query_device");
  // The low byte's lower half of a GUID names the port; what is above it counts slots.
  unsigned char guid[8];
  std::memcpy(guid, &found.node_guid, sizeof guid);
  return ((unsigned{guid[6]} << 8) | guid[7]) >> 4;
}

bool input_has_ended() {
  pollfd looked{STDIN_FILENO, POLLIN, 0};
  return poll(&looked, 1, 0) == 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) return 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  mailbox mail(words[1]);
  const unsigned own = static_cast<unsigned>(std::atoi(words[2]));
  const unsigned life = static_cast<unsigned>(std::atoi(words[3]));
  std::uint64_t random = std::strtoull(words[4], nullptr, 0);
  opened_device device;
  std::printf("slot %u\n", slot_of(device));
  {
    std::vector<std::unique_ptr<connection>> all;
    for (unsigned peer = 0; peer < places; ++peer)
      if (peer != own) all.push_back(std::make_unique<connection>(device, mail, own, life, peer));
    if (count > 5 && std::strcmp(words[5], "fork") == 0 && fork() == 0) {
      std::fclose(stdout);
      for (;;) pause();
    }
    while (!input_has_ended())
      for (const auto& one : all) one->work(random);
  }
  return failures() == 0 ? 0 : 1;
}
