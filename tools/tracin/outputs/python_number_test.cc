#include "tools/tracin/outputs/python_number.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// The expected values are from repr of Python 3.11.
TEST(PythonNumberTest, IsRepr) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {0.1, "0.1"},
      {0.0001, "0.0001"},
      {1e-05, "1e-05"},
      {1.5e-05, "1.5e-05"},
      {123456789.0, "123456789.0"},
      {1000000000000000.0, "1000000000000000.0"},
      {1e+16, "1e+16"},
      {1.5e+16, "1.5e+16"},
      {1e+22, "1e+22"},
      {3.141592653589793, "3.141592653589793"},
      {-2.5e-07, "-2.5e-07"},
      {0.3333333333333333, "0.3333333333333333"},
      {123456.75, "123456.75"},
      {5e-324, "5e-324"},
      {1.7976931348623157e+308, "1.7976931348623157e+308"},
      {9007199254740992.0, "9007199254740992.0"},
      {0.00012345, "0.00012345"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(PythonNumber(value), text);
  EXPECT_EQ(PythonNumber(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(PythonNumber(-std::numeric_limits<double>::infinity()), "-inf");
}

// The expected rows are from csv.writer of Python 3.11.
TEST(PythonNumberTest, CsvRow) {
  EXPECT_EQ(PythonCsvRow({"plain", "a,b", "say \"x\"", "two\nlines", " lead", "it's", "", "q\""}),
            "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\", lead,it's,,\"q\"\"\"\r\n");
  EXPECT_EQ(PythonCsvRow({"", "x"}), ",x\r\n");
}

}  // namespace
}  // namespace rutile
