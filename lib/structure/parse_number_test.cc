#include "lib/structure/parse_number.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

TEST(ParseNumberTest, EqualsTheCLibraryOnRandomNumbers) {
  RandomStream random(1, "parse_number_test");
  for (int i = 0; i < 300000; ++i) {
    const double value = std::ldexp(random.Uniform(-1, 1),
                                    static_cast<int>(random.Below(i % 2 == 0 ? 20 : 2100)) - (i % 2 == 0 ? 10 : 1070));
    const int digits = random.Below(25);
    for (const char* format : {"%.*f", "%.*e", "%.*g"}) {
      char text[700];
      std::snprintf(text, sizeof(text), format, digits, value);
      const std::optional<double> parsed = ParseNumber(text);
      if (std::isinf(std::strtod(text, nullptr))) {
        ASSERT_FALSE(parsed.has_value()) << text;
      } else {
        ASSERT_TRUE(parsed.has_value()) << text;
        ASSERT_EQ(*parsed, std::strtod(text, nullptr)) << text;
      }
    }
  }
}

TEST(ParseNumberTest, Forms) {
  EXPECT_EQ(ParseNumber("0"), 0.0);
  EXPECT_TRUE(std::signbit(*ParseNumber("-0.000")));
  EXPECT_EQ(ParseNumber("+1.5"), 1.5);
  EXPECT_EQ(ParseNumber(".5"), 0.5);
  EXPECT_EQ(ParseNumber("-5."), -5.0);
  EXPECT_EQ(ParseNumber(" 7\t"), 7.0);
  EXPECT_EQ(ParseNumber("0.55d0"), 0.55);
  EXPECT_EQ(ParseNumber("-0.19543054070818D+03"), -195.43054070818);
  EXPECT_EQ(ParseNumber("1.234567890123456789d-300"), 1.234567890123456789e-300);
  EXPECT_EQ(ParseNumber("1E5"), 1e5);
  EXPECT_EQ(ParseNumber("0000000000000000000000000000001.25"), 1.25);
  EXPECT_EQ(ParseNumber("123456789012345678901234567890"), 123456789012345678901234567890.0);
  EXPECT_EQ(ParseNumber("0." + std::string(400, '0') + "1e401"), 1.0);
  EXPECT_EQ(ParseNumber("9007199254740993"), 9007199254740992.0);  // half way between two doubles: to even
}

TEST(ParseNumberTest, EndsOfTheRange) {
  EXPECT_EQ(ParseNumber("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(ParseNumber("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(ParseNumber("1e-400"), 0.0);
  EXPECT_TRUE(std::signbit(*ParseNumber("-1d-99999999999999999999")));
  EXPECT_EQ(ParseNumber("0d99999999999999999999"), 0.0);
  EXPECT_EQ(ParseNumber("0.00001d-400"), 0.0);
  EXPECT_EQ(ParseNumber("0." + std::string(500, '0') + "1"), 0.0);
  EXPECT_FALSE(ParseNumber("0.001d312").has_value());
  EXPECT_EQ(ParseNumber("0.001d311"), 1e308);
  EXPECT_FALSE(ParseNumber(std::string(1000, '1') + "d-900").has_value());
  EXPECT_EQ(ParseNumber("0e99999999999999999999"), 0.0);
  EXPECT_FALSE(ParseNumber("1e309").has_value());
  EXPECT_FALSE(ParseNumber("-1D400").has_value());
  EXPECT_FALSE(ParseNumber(std::string(310, '9')).has_value());
  EXPECT_FALSE(ParseNumber("1e99999999999999999999").has_value());
}

TEST(ParseNumberTest, WhatIsNoNumber) {
  for (const char* text :
       {"",     " ",        "-",    "+",     ".",   "-.",  "e5",  "1e",  "1e+",   "1d-", "nan", "NaN",  "inf",
        "-inf", "Infinity", "0x10", "1.2.3", "1,5", "1 2", "--1", "+-1", "1e5.5", "1f",  "abc", "1_000"}) {
    EXPECT_FALSE(ParseNumber(text).has_value()) << text;
  }
}

TEST(ParseNumberTest, Integers) {
  EXPECT_EQ(ParseInteger("12"), 12);
  EXPECT_EQ(ParseInteger(" -3 "), -3);
  EXPECT_EQ(ParseInteger("+3"), 3);
  EXPECT_EQ(ParseInteger("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* text : {"", "+", "-", "+-1", "1.0", "1e3", "9223372036854775808", "1 2", "x"}) {
    EXPECT_FALSE(ParseInteger(text).has_value()) << text;
  }
}

TEST(ParseNumberTest, Elements) {
  EXPECT_EQ(ParseElement("Ti"), 22);
  EXPECT_EQ(ParseElement("22"), 22);
  for (const char* text : {"", "0", "119", "-1", "22.0", "99999999999999999999", "Xx"}) {
    EXPECT_EQ(ParseElement(text), 0);
  }
}

TEST(ParseNumberTest, WordsStopAtBlanks) {
  const std::string line = " a \t bc";
  const char* p = line.data();
  const char* const end = p + line.size();
  EXPECT_EQ(NextWord(&p, end), "a");
  EXPECT_EQ(NextWord(&p, end), "bc");
  EXPECT_EQ(NextWord(&p, end), "");
  EXPECT_EQ(NextWord(&p, end), "");
}

}  // namespace
}  // namespace rutile
