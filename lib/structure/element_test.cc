#include "lib/structure/element.h"

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(ElementTest, RoundTripForAll) {
  for (int z = 1; z <= 118; ++z) EXPECT_EQ(AtomicNumber(ElementSymbol(z)), z);
}

TEST(ElementTest, KnownPlaces) {
  EXPECT_EQ(AtomicNumber("H"), 1);
  EXPECT_EQ(AtomicNumber("O"), 8);
  EXPECT_EQ(AtomicNumber("Ti"), 22);
  EXPECT_EQ(AtomicNumber("Mo"), 42);
  EXPECT_EQ(AtomicNumber("W"), 74);
  EXPECT_EQ(AtomicNumber("Og"), 118);
}

TEST(ElementTest, WhatIsNoSymbol) {
  for (const char* symbol : {"", "X", "Xx", "CO", "ti", "TI", "Tis", "T1", "1", "*", "Ti ", "\xff", "A\xff", "Z{"}) {
    EXPECT_EQ(AtomicNumber(symbol), 0) << symbol;
  }
}

TEST(ElementDeathTest, NumberOutOfRange) {
  EXPECT_DEATH(ElementSymbol(0), "no element 0");
  EXPECT_DEATH(ElementSymbol(119), "no element 119");
}

}  // namespace
}  // namespace rutile
