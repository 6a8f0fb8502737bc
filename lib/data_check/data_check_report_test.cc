#include "lib/data_check/data_check_report.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

DataCheckResult Result() {
  DataChecker checker({});
  for (int i = 0; i < 6; ++i) {
    Structure s;
    s.name = "a\tb#" + std::to_string(i);
    s.element = {22, 8};
    s.position = {0, 0, 0, 1.8 + 0.1 * i, 0, 0};
    s.energy = -20 + 0.1 * i + (i == 4 ? 200 : 0);
    if (i > 0) s.force = {1, 2, 3, -1, -2, -3};
    checker.Add(s);
  }
  return checker.Finish();
}

TEST(DataCheckReportTest, Tables) {
  const DataCheckResult result = Result();
  const std::string findings = FindingsToTsv(result);
  EXPECT_THAT(findings,
              AllOf(HasSubstr("check\tstructures\tfound\tremedy\n"), HasSubstr("energy\t1\ta b#4: its energy"),
                    HasSubstr("coverage\t1\t1 of 6 structures have no forces: a b#0\t")));
  const std::string frames = FramesToTsv(result);
  EXPECT_THAT(frames, AllOf(HasSubstr("\na b#0\t2\tOTi\t-20.000000\t"), HasSubstr("\t3.000000\t\t1.900000\t"),
                            HasSubstr("\tenergy\n")));
  EXPECT_THAT(FindingsToTsv({}), "check\tstructures\tfound\tremedy\n");
}

TEST(DataCheckReportTest, PageAndPicture) {
  const std::string directory = testing::TempDir();
  ASSERT_TRUE(WriteDataCheckReport(directory, "featurize --check_data <a.xyz>", Result()).ok());
  const auto page = FileContents::Open(directory + "/data_check.html");
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(std::string(page->data()), AllOf(HasSubstr("6 structures, 6 with energy, 5 with forces, 0 with stress"),
                                               HasSubstr("its energy"), HasSubstr("&lt;a.xyz&gt;"), HasSubstr("<svg")));
  EXPECT_TRUE(FileContents::Open(directory + "/energy_by_composition.svg").ok());
  EXPECT_TRUE(FileContents::Open(directory + "/data_check.tsv").ok());
}

TEST(DataCheckReportTest, WithoutFindings) {
  const std::string directory = testing::TempDir();
  ASSERT_TRUE(WriteDataCheckReport(directory, "c", DataChecker({}).Finish()).ok());
  const auto page = FileContents::Open(directory + "/data_check.html");
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(std::string(page->data()), AllOf(HasSubstr("No check found anything"), Not(HasSubstr("<svg"))));
}

}  // namespace
}  // namespace rutile
