// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/list.hpp>

#include <gtest/gtest.h>

namespace freehca {
namespace {

struct element : list_node {
  explicit element(int n) : number(n) {}
  int number;
};

TEST(list, first_in_first_out_and_front) {
  list<element> l;
  element a(1), b(2), c(3);
  EXPECT_TRUE(l.empty());
  EXPECT_EQ(l.pop_front(), nullptr);
  l.push_back(a);
  l.push_back(b);
  l.push_front(c);
  EXPECT_EQ(l.front()->number, 3);
  EXPECT_EQ(l.next(c), &a);
  EXPECT_EQ(l.next(b), nullptr);
  EXPECT_EQ(l.pop_front(), &c);
  EXPECT_EQ(l.pop_front(), &a);
  EXPECT_EQ(l.pop_front(), &b);
  EXPECT_TRUE(l.empty());
}

TEST(list, an_element_leaves_by_itself_and_may_come_back) {
  list<element> l, other;
  element a(1), b(2), c(3);
  for (element* e : {&a, &b, &c}) l.push_back(*e);
  b.unlink();
  b.unlink();
  EXPECT_FALSE(b.linked());
  EXPECT_EQ(l.next(a), &c);
  other.push_back(b);
  EXPECT_EQ(other.pop_front(), &b);
  a.unlink();
  c.unlink();
  EXPECT_TRUE(l.empty());
}

TEST(list, and_element_may_be_destroyed_in_any_order) {
  element left(1);
  {
    list<element> l;
    element a(2);
    {
      element b(3);
      l.push_back(left);
      l.push_back(b);
      l.push_back(a);
    }
    EXPECT_EQ(l.front(), &left);
    EXPECT_EQ(l.next(left), &a);
  }
  EXPECT_FALSE(left.linked());
  list<element> other;
  other.push_back(left);
  EXPECT_EQ(other.pop_front(), &left);
}

TEST(list, takes_all_of_another_and_inserts_in_the_middle) {
  list<element> l, other;
  element a(1), b(2), c(3), d(4);
  l.take_all(other);
  EXPECT_TRUE(l.empty());
  other.push_back(b);
  other.push_back(d);
  l.take_all(other);
  EXPECT_TRUE(other.empty());
  other.push_back(a);
  other.take_all(l);
  other.insert(d, c);
  for (element* e : {&a, &b, &c, &d}) EXPECT_EQ(other.pop_front(), e);
  EXPECT_TRUE(l.empty() && other.empty());
}

}  // namespace
}  // namespace freehca
