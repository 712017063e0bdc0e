// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <freehca/model/c_api.h>
#include <freehca/vfio_user/descriptor.hpp>
#include <freehca/vfio_user/messages.hpp>

namespace freehca::device_server {

/// BAR 2 as memory that a client maps: UAR pages and BlueFlame pages to which a store goes without
/// a message. That something was stored is found by looking; what, the adapter finds in the host's
/// memory (device::look_at_uar).
///
/// No ring is lost. A driver stores an entry, or an arm request, and then rings: a store that makes
/// a word of the page something other than zero. Who looks takes the word and leaves zero, in one
/// atomic exchange, and reads the host's memory behind it. A ring before the exchange is taken by
/// it, and what was stored before the ring is then seen; a ring behind it stands in the page, for
/// the next look. Rings that meet in one word mean one page, whose queues are all looked at.
class doorbell_pages {
 public:
  /// The pages of event queues' doorbells stay registers: Linux and iPXE use the first 128 for
  /// nothing else (layouts/register_map.hpp).
  using areas = std::array<vfio_user::mappable_area, 2>;

  doorbell_pages() = default;
  ~doorbell_pages() { end(); }
  doorbell_pages(const doorbell_pages&) = delete;
  doorbell_pages& operator=(const doorbell_pages&) = delete;

  /// Makes the file, all zeros, for one client: the next one gets another, which this one cannot
  /// see. 0, or an errno.
  int begin(std::uint64_t bar_bytes);
  /// The same with a file that another process made so, and that its client has mapped. What stands
  /// in it is thrown away.
  int adopt(vfio_user::descriptor file, std::uint64_t bar_bytes);
  void end();
  bool begun() const { return at_ != nullptr; }
  int file() const { return file_.get(); }
  static areas mappable(std::uint64_t bar_bytes);

  /// Does the adapter have queues that ring in these pages? Only then somebody has to look.
  bool in_use(const freehca_model* model);
  /// Looks once at each page in use, but makes the adapter look at `most` only: the rest is for the
  /// next call. True: somebody rang. `heard`: false: what is found is thrown away, as a write to
  /// registers that do not answer.
  bool look(freehca_model* model, bool heard, std::size_t most);
  /// A few, and all that there are.
  static constexpr std::size_t some = 16, every = ~std::size_t{0};
  /// Whether a UAR page at that place of a BAR of so many bytes is one whose stores are looked for.
  static bool is_looked_at(std::uint64_t doorbells, std::uint64_t bar_bytes);

 private:
  int map(std::uint64_t bar_bytes);
  void find_pages(const freehca_model* model);
  void forget(const freehca_model_uar_page& page);
  bool look_at(freehca_model* model, const freehca_model_uar_page& page, bool heard);
  bool take_events(freehca_model* model, const freehca_model_uar_page& page, bool heard);
  template <class Word>
  Word take(std::uint64_t offset);

  vfio_user::descriptor file_;
  std::byte* at_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<freehca_model_uar_page> pages_;  ///< in use and mappable, by number
  std::uint64_t changes_ = ~std::uint64_t{0};  ///< the model's, when they were
  std::size_t next_ = 0;                       ///< where the next look begins
};

}  // namespace freehca::device_server
