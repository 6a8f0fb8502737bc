#include "tools/profile/pages/profile_html.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/plot/well_formed.h"
#include "lib/profile/record_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(ProfileHtmlTest, HoldsPicturesTablesAndAdvice) {
  CommandProfile run;
  run.command = {"sh", "<pipeline>.sh"};
  run.records = {TrainRecord()};
  run.records[0].command.push_back("--num_workers=2");
  run.notes = {"a note"};
  const auto html = ProfileHtml(run, PlainPeaks());
  ASSERT_TRUE(html.ok()) << html.status();
  EXPECT_TRUE(IsWellFormedXml("report.html", html->substr(html->find("<html"))));
  for (const char* part : {"Profile of sh &lt;pipeline&gt;.sh", "Timeline", "step/network", "workers cannot help",
                           "a note", "Bottleneck: train spends 50 %"}) {
    EXPECT_THAT(*html, HasSubstr(part));
  }
}

TEST(ProfileHtmlTest, NoRecordsAreAPageAllTheSame) {
  CommandProfile run;
  run.notes = {"no record"};
  const auto html = ProfileHtml(run, MachinePeaks());
  ASSERT_TRUE(html.ok()) << html.status();
  EXPECT_THAT(*html, HasSubstr("no record"));
}

}  // namespace
}  // namespace rutile
