// Expects that two computations of influence gave the same bits.

#ifndef RUTILE_LIB_INFLUENCE_SAME_INFLUENCE_TESTING_H_
#define RUTILE_LIB_INFLUENCE_SAME_INFLUENCE_TESTING_H_

#include "gtest/gtest.h"
#include "lib/influence/tracin.h"

namespace rutile {

inline void ExpectSame(const Influence& a, const Influence& b) {
  EXPECT_EQ(a.tests, b.tests);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.part_score, b.part_score);
  EXPECT_EQ(a.train_order, b.train_order);
  EXPECT_EQ(a.train_self, b.train_self);
  EXPECT_EQ(a.train_self_part, b.train_self_part);
  EXPECT_EQ(a.test_self, b.test_self);
  EXPECT_EQ(a.test_self_part, b.test_self_part);
}

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_SAME_INFLUENCE_TESTING_H_
