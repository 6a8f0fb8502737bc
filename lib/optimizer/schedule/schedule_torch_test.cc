// Compares every schedule with PyTorch's values (testdata/train/README.md).

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/optimizer/schedule/schedule.h"

namespace rutile {
namespace {

using Json = nlohmann::json;

Json Cases() {
  std::ifstream file("testdata/train/schedules.json");
  return Json::parse(file)["cases"];
}

ScheduleOptions Options(const Json& json) {
  ScheduleOptions options;
  options.kind = kScheduleNames.Parse(json["kind"].get<std::string>()).value();
  options.per_step = true;
  options.factor = json.value("factor", options.factor);
  options.period = json.value("period", options.period);
  options.period_mult = json.value("period_mult", options.period_mult);
  options.milestones = json.value("milestones", options.milestones);
  options.start_factor = json.value("start_factor", options.start_factor);
  options.end_factor = json.value("end_factor", options.end_factor);
  options.power = json.value("power", options.power);
  options.pct_start = json.value("pct_start", options.pct_start);
  options.div_factor = json.value("div_factor", options.div_factor);
  options.final_div_factor = json.value("final_div_factor", options.final_div_factor);
  options.anneal = kAnnealNames.Parse(json.value("anneal", "cos")).value();
  options.min_learning_rate = json.value("min_learning_rate", options.min_learning_rate);
  options.warmup_steps = json.value("warmup_steps", options.warmup_steps);
  options.warmup_start = json.value("warmup_start", options.warmup_start);
  options.patience = json.value("patience", options.patience);
  options.threshold = json.value("threshold", options.threshold);
  options.cooldown = json.value("cooldown", options.cooldown);
  options.maximize = json.value("maximize", options.maximize);
  EXPECT_EQ(CheckScheduleOptions(options), absl::OkStatus());
  return options;
}

TEST(ScheduleTorchTest, EqualsPyTorchsTables) {
  std::vector<bool> covered(static_cast<size_t>(ScheduleKind::kPlateau) + 1);
  for (const Json& test : Cases()) {
    const ScheduleOptions options = Options(test["options"]);
    covered[static_cast<size_t>(options.kind)] = true;
    const double learning_rate = test["learning_rate"];
    Schedule schedule(options, learning_rate);
    const std::vector<double> rates = test["rates"];
    for (size_t t = 0; t < rates.size(); ++t) {
      if (test.contains("losses")) schedule.Observe(test["losses"][t]);
      // PyTorch multiplies the rate step by step, which accumulates rounding errors.
      EXPECT_NEAR(schedule.LearningRate(0, static_cast<int64_t>(t)), rates[t], 1e-14 * learning_rate)
          << test["name"] << " at " << t;
    }
  }
  covered[static_cast<size_t>(ScheduleKind::kConstant)] = true;
  EXPECT_EQ(std::vector<bool>(covered.size(), true), covered) << "a schedule without a table";
}

}  // namespace
}  // namespace rutile
