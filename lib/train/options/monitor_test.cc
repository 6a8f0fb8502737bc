#include "lib/train/options/monitor.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(MonitorTest, ChoosesTheValue) {
  const ToyTask task({});
  const std::vector<Metric> metrics = {{"value_mae", "V", 3}};
  const auto value = [&](const char* name, bool has_validation = true) {
    return Monitor::Create(task, name, has_validation)->Value(1, 2, metrics);
  };
  EXPECT_EQ(value(""), 2);
  EXPECT_EQ(value("val_loss"), 2);
  EXPECT_EQ(value("train_loss"), 1);
  EXPECT_EQ(value("val_value_mae"), 3);
  EXPECT_EQ(value("", false), 1);
  EXPECT_FALSE(Monitor::Create(task, "train_loss", true)->of_validation());
  EXPECT_TRUE(Monitor::Create(task, "val_value_mae", true)->of_validation());
}

TEST(MonitorTest, ListsTheChoices) {
  const ToyTask task({});
  EXPECT_THAT(std::string(Monitor::Create(task, "val_mrr", true).status().message()),
              HasSubstr("no \"val_mrr\" to monitor; the choices are train_loss, val_loss, val_value_mae"));
  EXPECT_THAT(std::string(Monitor::Create(task, "val_loss", false).status().message()),
              HasSubstr("without a validation set; the choices are train_loss"));
}

TEST(MonitorTest, LessIsBetterUnlessTheMetricSaysOtherwise) {
  const ToyTask task({});
  EXPECT_TRUE(Monitor::Create(task, "", true)->Better(1, 2));
  class Hits : public ToyTask {
   public:
    using ToyTask::ToyTask;
    std::vector<Metric> Metrics(absl::Span<const double>) const override {
      Metric hits = {"hits_at_10", "", 0.5};
      hits.higher_is_better = true;
      return {{"value_mae", "V", 3}, hits};
    }
  };
  const Hits hits{ToyTaskOptions()};
  const Monitor monitor = Monitor::Create(hits, "val_hits_at_10", true).value();
  EXPECT_TRUE(monitor.maximize());
  EXPECT_TRUE(monitor.Better(2, 1));
  EXPECT_EQ(monitor.Value(1, 2, hits.Metrics({})), 0.5);
}

}  // namespace
}  // namespace rutile
