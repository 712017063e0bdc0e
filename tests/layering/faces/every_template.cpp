// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every class template of the public headers of faces, instantiated whole.
#include <freehca/easy/easy.hpp>
#include <freehca/hca/kinds/address_attributes.hpp>
#include <freehca/interfaces/every_interface.hpp>
#include <freehca/work_requests/send_request.hpp>

namespace freehca {

template class easy::bringing<easy::opening, easy::connection, easy::moving>;
template struct easy::attempt<easy::next_completion>;
template class easy::object_sequence<object_operation>;
template class easy::facade_operation<easy::tearing_down, easy::sequence>;
template class easy::task<std::uint64_t>;

easy::task<std::uint64_t> inner(easy::frames&, easy::adapter& hca);
easy::task<std::uint64_t> inner(easy::frames&, easy::adapter& hca) {
  const easy::connection c = co_await hca.open_rc();
  const status s = co_await easy::attempt(hca.close(c));
  co_await hca.tear_down();
  co_return s.ok() ? 1u : 0u;
}
easy::task<std::uint64_t> outer(easy::frames& f, easy::adapter& hca);
easy::task<std::uint64_t> outer(easy::frames& f, easy::adapter& hca) {
  co_await hca.bring_up();
  co_return co_await inner(f, hca);
}

template struct attribute_name<std::uint64_t>;
template struct attribute_name<gid>;

/// A list is read into a struct by the rows of its attribute_table.
status read_a_path(const attribute_list& list, infiniband_path& to) {
  static constexpr auto known = attributes_of<infiniband_path>(
      {required(FREEHCA_ATTRIBUTE(infiniband_path, dlid, path::dlid)),
       FREEHCA_ATTRIBUTE(infiniband_path, dgid, path::dgid)});
  static_assert(std::same_as<decltype(known), const attribute_table<infiniband_path, 2>>);
  return read(list, known, to);
}

/// Requests of opcodes that are known only at run time.
status post_each(queues::sq& to, const work_requests::send_request& r) {
  FREEHCA_TRY(work_requests::post(to, r));
  return work_requests::post_and_ring(to, r);
}

/// Each interface is asked for by a function of its own.
status query_each() {
  address_handle_interface addresses;
  FREEHCA_TRY(query_interface(addresses));
  queue_pair_interface pairs;
  return query_interface(pairs);
}

}  // namespace freehca
