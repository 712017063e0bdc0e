// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "churn.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <freehca/in_process/detached.hpp>

#include "rig.hpp"

namespace freehca::bench {
namespace {

using in_process::detached;

constexpr unsigned at_a_time = 64;

class churning {
 public:
  explicit churning(const churn_options& how) : how_(how), random_(how.seed), rig_({}, how.alive) {}

  churn_result run() {
    result_.unneeded_bound = rig_.budget().spare_context_blocks;
    result_.outcome = rig_.open();
    if (result_.outcome.ok()) {
      // The completion queue's own context is there already.
      settle();
      result_.lent_before = lent();
      remember_others();
      live();
      settle();
      result_.lent_after = lent();
      if (result_.lent_after != result_.lent_before) complain("not all bytes came back");
    }
    note(rig_.close());
    if (!rig_.adapter.holdings().none()) complain("something is held after teardown");
    return result_;
  }

 private:
  void live() {
    std::uniform_int_distribution<unsigned> any(0, how_.alive);
    while (result_.outcome.ok() && result_.wrong.empty() && started_ < how_.queue_pairs) {
      // Now to the most that there may be, now to any number, now to none.
      const unsigned turn = turns_++ % 4;
      const unsigned to = turn == 0 ? how_.alive : turn == 2 ? 0 : any(random_);
      move(to);
    }
    while (result_.outcome.ok() && !alive_.empty()) batch(0, at_a_time);
  }

  // Until `to` are alive: mostly in that direction, and now and then one the other way.
  void move(unsigned to) {
    std::uniform_int_distribution<unsigned> die(0, 7);
    while (result_.outcome.ok() && result_.wrong.empty() && started_ < how_.queue_pairs) {
      const auto alive = static_cast<unsigned>(alive_.size());
      if (alive == to) return;
      shorten_memory();
      const unsigned few = die(random_);
      if (alive < to) batch(std::min(to - alive, at_a_time), std::min(few, alive));
      else batch(std::min(few, how_.alive - alive), std::min(alive - to, at_a_time));
      sample();
    }
  }

  // Makes some and destroys some, all at the same time.
  void batch(unsigned make, unsigned destroy) {
    make = std::min(make, how_.queue_pairs - started_);
    running_ = 0;
    for (unsigned i = 0; i < destroy && !alive_.empty(); ++i) {
      std::uniform_int_distribution<std::size_t> which(0, alive_.size() - 1);
      std::swap(alive_[which(random_)], alive_.back());
      const qp_handle gone = alive_.back().queue;
      alive_.pop_back();
      destroy_one(gone);
    }
    for (unsigned i = 0; i < make; ++i) make_one();
    note(rig_.drive([this] { return running_ == 0; }));
  }

  detached make_one() {
    ++running_;
    ++started_;
    create_queue_pair created;
    created.start(rig_.objects, {.pd = rig_.domain,
                                 .send_cq = rig_.completions,
                                 .receive_cq = rig_.completions,
                                 .sends = 1,
                                 .receives = 1});
    const status s = co_await created;
    if (s.is(driver_error::no_memory) && how_.memory_fails) {
      ++result_.refused;
    } else if (!s.ok()) {
      note(s);
    } else {
      // The firmware has its context from here on.
      modify_queue_pair m;
      m.start(rig_.objects, created.made(), layouts::qp_state::init);
      note(co_await m);
      // Where the translations of its rings are, only the context tells.
      query_queue_pair look;
      look.start(rig_.objects, created.made());
      note(co_await look);
      alive_.push_back({created.made(), look.context().get<&layouts::qpc::mtt_base>()});
      ++result_.made;
    }
    --running_;
  }

  detached destroy_one(qp_handle which) {
    ++running_;
    destroy_queue_pair d;
    d.start(rig_.objects, which);
    note(co_await d);
    --running_;
  }

  // Somebody else's pages, so that few are left to lend, or none.
  void shorten_memory() {
    if (!how_.memory_fails) return;
    std::uniform_int_distribution<unsigned> die(0, 15);
    const unsigned cast = die(random_);
    if (cast == 0) {
      for (;;) {
        const result<dma_region> page = rig_.adapter.contexts().arena().allocate(4096);
        if (!page.ok()) return;
        taken_.push_back(page.value());
      }
    }
    if (cast > 12) give_back(taken_.size());
    else give_back(taken_.size() / 2);
  }
  void give_back(std::size_t pages) {
    for (std::size_t i = 0; i < pages && !taken_.empty(); ++i) {
      rig_.adapter.contexts().arena().free(taken_.back());
      taken_.pop_back();
    }
  }

  // What is on its way back may arrive, but spares get no time to go.
  void sample() {
    note(rig_.drive([this] { return rig_.adapter.contexts().idle(); }));
    ++result_.samples;
    const context_tables& tables = rig_.adapter.contexts();
    std::set<block> needed;
    const context_layout::group_shape s = context_layout::shape(context_group::qp);
    for (unsigned i = 0; i < s.tables; ++i) {
      const auto t = static_cast<context_table>(static_cast<unsigned>(s.first) + i);
      const unsigned log = tables.layout().table(t).log_block;
      for (const live_one& q : alive_) needed.insert({t, qpn_of(rig_.objects, q.queue) >> log});
    }
    for (const live_one& q : alive_)
      needed.insert({context_table::mtt, static_cast<std::uint32_t>(q.translations >> log_page)});
    for (const block& b : before_) needed.erase(b);
    const std::uint32_t blocks = tables.blocks_lent() - blocks_before_;
    if (blocks < needed.size()) return complain("a block that is needed is not lent");
    const auto unneeded = static_cast<std::uint32_t>(blocks - needed.size());
    result_.most_unneeded = std::max(result_.most_unneeded, unneeded);
    if (unneeded > result_.unneeded_bound)
      complain(fmt::format("{} blocks are lent that hold nothing", unneeded));
    if (alive_.size() <= result_.most_alive) return;
    result_.most_alive = static_cast<unsigned>(alive_.size());
    result_.lent_at_peak = lent();
    result_.occupied_at_peak = occupied();
  }

  // Of the tables of queue pairs, and a unit of translations each.
  std::uint64_t occupied() {
    const context_layout& l = rig_.adapter.contexts().layout();
    const context_layout::group_shape s = context_layout::shape(context_group::qp);
    std::uint64_t each = std::uint64_t{1} << (number_spaces::log_mtt_unit +
                                              l.table(context_table::mtt).log_entry_bytes);
    for (unsigned i = 0; i < s.tables; ++i)
      each += std::uint64_t{1} << l.tables[static_cast<unsigned>(s.first) + i].log_entry_bytes;
    return each * alive_.size();
  }

  // Blocks that others than our queue pairs need: the firmware, and the queues of the driver
  // itself.
  void remember_others() {
    const context_tables& tables = rig_.adapter.contexts();
    const context_layout::group_shape s = context_layout::shape(context_group::qp);
    for (unsigned i = 0; i < s.tables; ++i) {
      const auto t = static_cast<context_table>(static_cast<unsigned>(s.first) + i);
      const std::uint32_t last = rig_.adapter.capabilities().reserved_qps - 1;
      for (std::uint32_t b = 0; b <= last >> tables.layout().table(t).log_block; ++b)
        before_.insert({t, b});
    }
    const unsigned log = tables.layout().table(context_table::mtt).log_block;
    for (std::uint32_t b = 0; b < tables.layout().blocks(context_table::mtt); ++b)
      if (tables.mapped(context_group::mtt, b << log)) before_.insert({context_table::mtt, b});
    blocks_before_ = tables.blocks_lent();
  }

  // Until the spares have gone.
  void settle() {
    give_back(taken_.size());
    const std::uint64_t until = rig_.machine.time() + 3 * rig_.budget().spare_context_ns;
    note(rig_.drive([this, until] { return rig_.machine.time() >= until; }));
  }

  std::uint64_t lent() {
    std::uint64_t sum = 0;
    for (unsigned t = 0; t < context_tables_count; ++t)
      sum += rig_.adapter.contexts().bytes_lent(static_cast<context_table>(t));
    return sum;
  }

  void note(status s) {
    if (result_.outcome.ok()) result_.outcome = s;
  }
  void complain(std::string what) {
    if (result_.wrong.empty()) result_.wrong = std::move(what);
  }

  churn_options how_;
  churn_result result_;
  std::mt19937_64 random_;
  rig rig_;
  struct live_one {
    qp_handle queue;
    std::uint64_t translations;  // offset in the table
  };
  using block = std::pair<context_table, std::uint32_t>;
  static constexpr unsigned log_page = 12;

  std::vector<live_one> alive_;
  std::set<block> before_;
  std::vector<dma_region> taken_;
  std::uint32_t blocks_before_ = 0;
  unsigned started_ = 0, running_ = 0, turns_ = 0;
};

}  // namespace

churn_result churn(const churn_options& how) {
  return churning(how).run();
}

}  // namespace freehca::bench
