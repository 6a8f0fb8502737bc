#include "lib/train/step_log.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/train/files/log_format.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

StepReport Report(int64_t step) {
  StepReport report;
  report.epoch = 1 + (step - 1) / 4;
  report.step = step;
  report.loss = 0.5 * static_cast<double>(step);
  report.learning_rate = 0.01;
  report.gradient_norm = 3;
  return report;
}

std::string Path(const char* name) { return ::testing::TempDir() + "/" + name; }

// Returns the lines without the last column, which is a time.
std::vector<std::string> Lines(const std::string& path) {
  std::vector<std::string> lines(1);
  const std::string text(FileContents::Open(path)->data());
  for (const char c : text) {
    if (c == '\n') {
      lines.back().resize(lines.back().rfind('\t'));
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  lines.pop_back();
  return lines;
}

TEST(StepLogTest, ARowForEveryNSteps) {
  StepLog log(Path("every"), AllLogFormats(), "V", 3);
  EXPECT_FALSE(FileExists(Path("every.tsv"))) << "before the first step";
  for (int64_t step = 1; step <= 7; ++step) log.Observe(Report(step));
  EXPECT_EQ(log.status(), absl::OkStatus());
  EXPECT_THAT(Lines(Path("every.tsv")), ::testing::ElementsAre("epoch\tstep\tloss[V]\tlearning_rate\tgradient_norm",
                                                               "1\t3\t1.5\t0.01\t3", "2\t6\t3\t0.01\t3"));
  EXPECT_THAT(std::string(FileContents::Open(Path("every.jsonl"))->data()),
              HasSubstr("}\n{\"epoch\":2,\"step\":6,\"loss\":3,\"learning_rate\":0.01,\"gradient_norm\":3,\"time\":"));
}

TEST(StepLogTest, AResumedRunDropsRowsThatComeAgain) {
  const auto run = [](int64_t first, int64_t last) {
    StepLog log(Path("again"), {LogFormat::kTsv}, "", 1);
    for (int64_t step = first; step <= last; ++step) log.Observe(Report(step));
    return Lines(Path("again.tsv"));
  };
  const std::vector<std::string> whole = run(1, 9);
  EXPECT_EQ(run(6, 9), whole);      // the checkpoint was of step 5
  EXPECT_EQ(run(1, 2).size(), 3u);  // a new run
  EXPECT_EQ(run(1, 9), whole);
}

TEST(StepLogTest, AnErrorWaits) {
  StepLog log(Path("no/such/steps"), {LogFormat::kTsv}, "", 1);
  EXPECT_EQ(log.status(), absl::OkStatus());
  log.Observe(Report(1));
  log.Observe(Report(2));
  EXPECT_THAT(std::string(log.status().message()), HasSubstr("no/such/steps.tsv"));
}

}  // namespace
}  // namespace rutile
