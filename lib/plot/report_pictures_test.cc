#include "lib/plot/report_pictures.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/plot/html_report.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSvg[] = "<svg xmlns='http://www.w3.org/2000/svg'></svg>";

TEST(ReportPicturesTest, APictureIsAFileAndOnThePage) {
  HtmlReport html("t");
  ReportPictures pictures(::testing::TempDir(), &html);
  ASSERT_TRUE(pictures.Add("a.svg", std::string(kSvg), "What it shows.").ok());
  EXPECT_THAT(pictures.warning(), IsEmpty());
  EXPECT_EQ(FileContents::Open(::testing::TempDir() + "/a.svg")->data(), kSvg);
  EXPECT_THAT(html.ToString(), AllOf(HasSubstr(kSvg), HasSubstr("What it shows.")));
}

TEST(ReportPicturesTest, AMissingPictureIsASentenceAndAWarning) {
  HtmlReport html("t");
  ReportPictures pictures(::testing::TempDir(), &html);
  ASSERT_TRUE(pictures.Add("b.svg", absl::NotFoundError("gnuplot is not installed"), "").ok());
  ASSERT_TRUE(pictures.Add("c.svg", absl::InvalidArgumentError("no values"), "").ok());
  EXPECT_EQ(pictures.warning(), "the report is without b.svg and other pictures: gnuplot is not installed");
  EXPECT_FALSE(FileExists(::testing::TempDir() + "/b.svg"));
  EXPECT_THAT(html.ToString(), AllOf(HasSubstr("b.svg was not drawn: gnuplot"),
                                     HasSubstr("c.svg was not drawn: no values"), Not(HasSubstr("<figure>"))));
}

TEST(ReportPicturesTest, AFileThatCannotBeWrittenIsAnError) {
  HtmlReport html("t");
  ReportPictures pictures(::testing::TempDir() + "/none", &html);
  EXPECT_FALSE(pictures.Add("a.svg", std::string(kSvg), "").ok());
}

}  // namespace
}  // namespace rutile
