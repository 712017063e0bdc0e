// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The table of fields of a class with state, in the class itself:
//
//   class send_window {
//    ...
//    public:
//     using saved = saving::fields<&send_window::requests_, &send_window::cursor_,
//                                 saving::up_to(&send_window::step_, step::done),
//                                 saving::since(2, &send_window::reliable_)>;
//     static constexpr saving::unsaved_member unsaved[] = {
//         {"found_", "a cache of look-ups, which is filled again"}};
//   };
//
// A test compares both lists with the members of the class (tests/layering/saved_members.py).
// References and const members are in neither: they are fixed at construction.
#pragma once

#include <algorithm>
#include <string_view>

namespace freehca::model::saving {

class reader;
class writer;

/// The version of the streams that this build writes.
inline constexpr unsigned newest_version = 1;

/// The members of a class that a stream has, in the order of the stream. A row is a pointer to a
/// member, or one of the rows below.
template <auto... rows>
struct fields {};

/// A member that streams have since a version. A load of an older stream leaves the member as the
/// constructor made it.
template <class Class, class Member>
struct since_row {
  unsigned version;
  Member Class::*member;
};
template <class Class, class Member>
constexpr since_row<Class, Member> since(unsigned version, Member Class::*member) {
  return {version, member};
}

/// An enumeration whose greatest value is known. A load refuses greater values.
template <class Class, class Member>
struct up_to_row {
  Member Class::*member;
  Member greatest;
};
template <class Class, class Member>
constexpr up_to_row<Class, Member> up_to(Member Class::*member, Member greatest) {
  return {member, greatest};
}

/// An enumeration of which the class takes any value, as a field of the hardware has it.
template <class Class, class Member>
struct any_value_row {
  Member Class::*member;
};
template <class Class, class Member>
constexpr any_value_row<Class, Member> any_value(Member Class::*member) {
  return {member};
}

/// A member that streams have, and that a digest of the state does not count: it tells how the
/// work was done, not what it led to.
template <class Class, class Member>
struct outside_digest_row {
  Member Class::*member;
};
template <class Class, class Member>
constexpr outside_digest_row<Class, Member> outside_digest(Member Class::*member) {
  return {member};
}

/// A pointer to an object that the constructor makes, or does not make, and that lives as long as
/// the class. The stream has the object.
template <class Class, class Member>
struct behind_row {
  Member Class::*member;
};
template <class Class, class Member>
constexpr behind_row<Class, Member> behind(Member Class::*member) {
  return {member};
}

/// The table of fields of a class that has none itself, as a struct of a public header. Specialised
/// as `fields<...>{}`.
template <class Class>
inline constexpr auto fields_of = nullptr;

/// The greatest value of an enumeration that fields without a row of their own have. Specialised
/// beside the enumeration.
template <class Enumeration>
inline constexpr auto greatest = nullptr;

/// A member that no stream has.
struct unsaved_member {
  const char* name;
  const char* reason;
};

namespace detail {

// The compilers write "... member = &CLASS::NAME]", or "...; OTHERS]" behind the name.
template <auto member>
constexpr std::string_view signature() {
  return __PRETTY_FUNCTION__;
}
constexpr std::string_view name_in(std::string_view signature) {
  const std::string_view from_member = signature.substr(signature.find("member = "));
  const std::size_t end = std::min(from_member.find(';'), from_member.rfind(']'));
  const std::string_view member = from_member.substr(0, end);
  const std::string_view name = member.substr(member.rfind("::") + 2);
  return name.substr(0, std::min(name.find(')'), name.size() - (name.back() == '_' ? 1 : 0)));
}

}  // namespace detail

template <auto member>
inline constexpr std::string_view name_of_member = detail::name_in(detail::signature<member>());

}  // namespace freehca::model::saving
