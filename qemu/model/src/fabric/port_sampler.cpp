// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/port_sampler.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

// The length of a tick: no source, chosen.
constexpr std::uint64_t tick_ns = 4;
// Five counters, as many as there are to sample (Linux qib_mad.c COUNTER_MASK0_9); cards: no
// source, chosen.
constexpr unsigned counters_offered = 5, bits_per_mask = 3, masks_in_first_field = 10;

constexpr std::uint64_t masks_0_9() {
  std::uint64_t all = 0;
  for (unsigned i = 0; i < counters_offered; ++i)
    all |= std::uint64_t{sample_mask_mandatory} << (masks_in_first_field - 1 - i) * bits_per_mask;
  return all;
}

}  // namespace

port_sampler::control port_sampler::at_power_on() {
  return control{}
      .set<&port_samples_control::counter_width>(sample_width_32)
      .set<&port_samples_control::counter_masks_0_9>(masks_0_9());
}

port_sampler::control port_sampler::settings() const {
  control now = settings_;
  now.set<&port_samples_control::port_select>(port_.info.get<&port_info::local_port_num>())
      .set<&port_samples_control::status>(status_);
  return now;
}

void port_sampler::set(const control& wanted) {
  if (status_ != sample_status::done) return;
  settings_.set<&port_samples_control::sample_start>(
      wanted.get<&port_samples_control::sample_start>());
  settings_.set<&port_samples_control::sample_interval>(
      wanted.get<&port_samples_control::sample_interval>());
  settings_.set<&port_samples_control::tag>(wanted.get<&port_samples_control::tag>());
  for (unsigned i = 0; i < counters_offered; ++i)
    set_element<&port_samples_control::counter_select, std::uint16_t>(
        settings_, i, element<&port_samples_control::counter_select, std::uint16_t>(wanted, i));
  status_ = sample_status::started;
  next_ = work_.after(settings_.get<&port_samples_control::sample_start>() * tick_ns,
                      {.kind = begin_interval});
}

void port_sampler::begin() {
  status_ = sample_status::running;
  for (unsigned i = 0; i < values_.size(); ++i) values_[i] = now_of(i);
  next_ = work_.after(settings_.get<&port_samples_control::sample_interval>() * tick_ns,
                      {.kind = end_interval});
}

void port_sampler::end() {
  status_ = sample_status::done;
  for (unsigned i = 0; i < values_.size(); ++i) values_[i] = now_of(i) - values_[i];
}

std::uint64_t port_sampler::now_of(unsigned counter) const {
  const auto what = static_cast<sampled_counter>(
      element<&port_samples_control::counter_select, std::uint16_t>(settings_, counter));
  const traffic_counters& t = port_.traffic;
  switch (what) {
    case sampled_counter::xmit_data:
      return t.xmit_data.total();
    case sampled_counter::rcv_data:
      return t.rcv_data.total();
    case sampled_counter::xmit_packets:
      return t.xmit_packets.total();
    case sampled_counter::rcv_packets:
      return t.rcv_packets.total();
    // Ticks with data to send and no credits: the model's senders wait before the port, so there
    // are none.
    case sampled_counter::xmit_wait:
    case sampled_counter::none:
      break;
  }
  return 0;
}

port_sampler::result port_sampler::counted() const {
  constexpr std::uint64_t greatest = 0xffffffff;
  result r;
  r.set<&port_samples_result::tag>(settings_.get<&port_samples_control::tag>())
      .set<&port_samples_result::status>(status_);
  if (status_ != sample_status::done) return r;
  for (unsigned i = 0; i < values_.size(); ++i)
    set_element<&port_samples_result::counters, std::uint32_t>(
        r, i, static_cast<std::uint32_t>(values_[i] < greatest ? values_[i] : greatest));
  return r;
}

void port_sampler::clear() {
  work_.cancel(next_);
  settings_ = at_power_on();
  values_ = {};
  status_ = sample_status::done;
}

}  // namespace freehca::model
