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

/// BAR 2 as memory that a client maps: UAR pages and BlueFlame pages, so that a doorbell is a store
/// without a message. The server scans the pages for stores. The adapter finds the new entries in
/// the host's memory (device::look_at_uar).
///
/// No doorbell is lost. A driver stores an entry, or an arm request, and then writes the doorbell,
/// which makes a word of the page nonzero. The scan takes the word and leaves zero in one atomic
/// exchange, and reads the host's memory after it. A doorbell before the exchange is taken by it,
/// and the stores before the doorbell are then visible. A doorbell after the exchange stays in the
/// page for the next scan. If several doorbells meet in one word, they belong to one page, and all
/// queues of this page are examined.
class doorbell_pages {
 public:
  /// The pages of event queues' doorbells stay registers: Linux and iPXE use the first 128 for
  /// nothing else (layouts/register_map.hpp).
  using areas = std::array<vfio_user::mappable_area, 2>;

  doorbell_pages() = default;
  ~doorbell_pages() { end(); }
  doorbell_pages(const doorbell_pages&) = delete;
  doorbell_pages& operator=(const doorbell_pages&) = delete;

  /// Creates the file, all zeros, for one client. The next client gets another file, which this
  /// client cannot access. Returns 0, or an errno.
  int begin(std::uint64_t bar_bytes);
  /// The same with a file that another process created and that its client has mapped. Doorbells in
  /// it are discarded, or kept for the next scan.
  enum class doorbells { discarded, kept };
  int adopt(vfio_user::descriptor file, std::uint64_t bar_bytes, doorbells what);
  void end();
  bool begun() const { return at_ != nullptr; }
  int file() const { return file_.get(); }
  static areas mappable(std::uint64_t bar_bytes);

  /// Whether the adapter has queues with doorbells in these pages. Otherwise no scan is needed.
  bool in_use(const freehca_model* model);
  /// Scans every page in use once. Forwards the doorbells of at most `most` pages to the adapter
  /// and leaves the rest for the next call. Returns true if any doorbell was written. If `forward`
  /// is false, doorbells are discarded, like writes to registers that do not answer.
  bool look(freehca_model* model, bool forward, std::size_t most);
  /// Values of `most`: a few pages, and all pages.
  static constexpr std::size_t some = 16, every = ~std::size_t{0};
  /// Whether a UAR page at this offset of a BAR of `bar_bytes` bytes is scanned.
  static bool is_looked_at(std::uint64_t doorbells, std::uint64_t bar_bytes);

 private:
  int map(std::uint64_t bar_bytes);
  void find_pages(const freehca_model* model);
  void forget(const freehca_model_uar_page& page);
  bool look_at(freehca_model* model, const freehca_model_uar_page& page, bool forward);
  bool take_events(freehca_model* model, const freehca_model_uar_page& page, bool forward);
  template <class Word>
  Word take(std::uint64_t offset);

  vfio_user::descriptor file_;
  std::byte* at_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<freehca_model_uar_page> pages_;  ///< pages in use that are scanned, sorted by number
  std::uint64_t changes_ = ~std::uint64_t{0};  ///< the model's count when the pages were searched
  std::size_t next_ = 0;                       ///< index at which the next scan begins
};

}  // namespace freehca::device_server
