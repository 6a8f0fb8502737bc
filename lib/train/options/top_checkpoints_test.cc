#include "lib/train/options/top_checkpoints.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Name(int64_t epoch) { return TopCheckpointName(epoch, 10 * epoch); }

std::vector<double> Losses(const TopCheckpoints& top) {
  std::vector<double> losses;
  for (const TopCheckpoint& checkpoint : top.kept()) losses.push_back(checkpoint.loss);
  return losses;
}

// Observes the end of an epoch of ten steps, and returns the decision as "write remove".
std::string Observe(TopCheckpoints* top, double loss, int64_t epoch) {
  const TopCheckpoints::Decision decision = top->Observe(loss, epoch, 10 * epoch);
  return decision.write + " " + decision.remove;
}

TEST(TopCheckpointsTest, Names) {
  EXPECT_EQ(TopCheckpointName(12, 480), "top-epoch-00012-step-000480.safetensors");
  EXPECT_EQ(TopCheckpointName(123456, 12345678), "top-epoch-123456-step-12345678.safetensors");
}

TEST(TopCheckpointsTest, KeepsTheBest) {
  TopCheckpoints top(2, /*maximize=*/false);
  EXPECT_EQ(Observe(&top, 5, 1), Name(1) + " ");
  EXPECT_EQ(Observe(&top, 3, 2), Name(2) + " ");
  EXPECT_EQ(Observe(&top, 7, 3), " ");  // worse than both
  EXPECT_EQ(Observe(&top, 4, 4), Name(4) + " " + Name(1));
  EXPECT_EQ(Observe(&top, 1, 5), Name(5) + " " + Name(4));
  EXPECT_THAT(Losses(top), ElementsAre(1, 3));
}

TEST(TopCheckpointsTest, HigherIsBetterWhenMaximized) {
  TopCheckpoints top(1, /*maximize=*/true);
  EXPECT_EQ(Observe(&top, 0.5, 1), Name(1) + " ");
  EXPECT_EQ(Observe(&top, 0.4, 2), " ");
  EXPECT_EQ(Observe(&top, 0.6, 3), Name(3) + " " + Name(1));
}

TEST(TopCheckpointsTest, OfEqualLossesTheEarlierStays) {
  TopCheckpoints top(2, /*maximize=*/false);
  Observe(&top, 1, 1);
  Observe(&top, 1, 2);
  EXPECT_EQ(Observe(&top, 1, 3), " ");
  EXPECT_EQ(Observe(&top, 0, 4), Name(4) + " " + Name(2));
}

TEST(TopCheckpointsTest, NoneAndAll) {
  TopCheckpoints none(0, /*maximize=*/false), all(-1, /*maximize=*/false);
  EXPECT_EQ(Observe(&none, 1, 1), " ");
  for (int epoch = 1; epoch <= 20; ++epoch) EXPECT_EQ(Observe(&all, epoch, epoch), Name(epoch) + " ");
  EXPECT_EQ(all.kept().size(), 20);
}

TEST(TopCheckpointsTest, NanIsNotKept) {
  TopCheckpoints top(1, /*maximize=*/false);
  EXPECT_EQ(Observe(&top, std::numeric_limits<double>::quiet_NaN(), 1), " ");
  EXPECT_THAT(top.kept(), IsEmpty());
}

// A run that ended inside an epoch validates the same parameters again when it is resumed.
TEST(TopCheckpointsTest, TheSameStepReplacesItself) {
  TopCheckpoints top(2, /*maximize=*/false);
  Observe(&top, 1, 1);
  Observe(&top, 2, 2);
  EXPECT_EQ(Observe(&top, 1, 1), Name(1) + " ");
  EXPECT_THAT(Losses(top), ElementsAre(1, 2));
  Observe(&top, 1.5, 3);
  EXPECT_EQ(Observe(&top, 9, 3), Name(3) + " ");  // there is room for it again
  EXPECT_THAT(Losses(top), ElementsAre(1, 9));
  EXPECT_EQ(Observe(&top, std::numeric_limits<double>::quiet_NaN(), 3), " " + Name(3));
}

TEST(TopCheckpointsTest, StateSurvives) {
  TopCheckpoints first(3, /*maximize=*/false), second(3, /*maximize=*/false), fewer(1, /*maximize=*/false);
  ASSERT_EQ(second.SetState(first.State()), absl::OkStatus());  // nothing kept yet
  for (int epoch = 1; epoch <= 4; ++epoch) Observe(&first, 10 - epoch, epoch);
  ASSERT_EQ(second.SetState(first.State()), absl::OkStatus());
  EXPECT_THAT(Losses(second), ElementsAre(6, 7, 8));
  EXPECT_EQ(Observe(&second, 1, 5), Name(5) + " " + Name(2));
  // A run is resumed with a lower k.
  ASSERT_EQ(fewer.SetState(first.State()), absl::OkStatus());
  EXPECT_THAT(Losses(fewer), ElementsAre(6));
  EXPECT_EQ(Observe(&fewer, 1, 5), Name(5) + " " + Name(4));
}

TEST(TopCheckpointsTest, RefusesAStateThatDoesNotFit) {
  TopCheckpoints top(2, /*maximize=*/false);
  EXPECT_THAT(std::string(top.SetState({}).message()), HasSubstr("\"loss\""));
  NamedTensors state;
  state.Set("loss", Tensor::Of<double>({1}, {1}));
  state.Set("epoch", Tensor::Of<int64_t>({1}, {1}));
  EXPECT_THAT(std::string(top.SetState(state).message()), HasSubstr("no tensor \"step\""));
}

}  // namespace
}  // namespace rutile
