#include "lib/train/starting_state.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/task/framed_model.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/run_plan.h"
#include "lib/train/tests/resumed_run_testing.h"

namespace rutile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class StartingStateTest : public ResumedRunTest {
 protected:
  StartingStateTest() : ResumedRunTest({{0, 1, 2}, {3}, {}}) { options_.seed = 4; }

  // Writes the two checkpoints that a run leaves at steps 10 and 20.
  void SaveTwo() {
    for (const int64_t step : {10, 20}) {
      Checkpoint state = NewState(task_, Plan());
      state.step = step;
      ASSERT_TRUE(MakeDirectories(directory_.path() + "/recovery").ok());
      ASSERT_EQ(SaveCheckpoint(directory_.next(), state, task_.parameter_slices(), {}), absl::OkStatus());
      ASSERT_EQ(directory_.Promote(), absl::OkStatus());
    }
  }
  void SaveNumbered(int64_t step) {
    Checkpoint state = NewState(task_, Plan());
    state.step = step;
    ASSERT_EQ(SaveCheckpoint(directory_.step_checkpoint(step), state, task_.parameter_slices(), {}), absl::OkStatus());
  }
  static void Damage(const std::string& path) {
    std::string bytes(FileContents::Open(path).value().data());
    bytes[bytes.size() - 3] ^= 4;
    ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  }
  std::string Message() { return std::string(Resume().status().message()); }
  RunPlan Plan(int64_t num_batches = 2) const {
    RunPlan plan;
    plan.options = options_;
    plan.train = split_.train;
    plan.validation = split_.validation;
    plan.num_batches = num_batches;
    return plan;
  }
  absl::StatusOr<StartingState> Resume(int64_t num_batches = 2) {
    return ResumedState(task_, Plan(num_batches), directory_);
  }
};

TEST_F(StartingStateTest, NewRunsStartAtTheSeedsParameters) {
  const Checkpoint state = NewState(task_, Plan());
  EXPECT_EQ(state.parameters.ToDoubles(), task_.InitialParameters(4).ToDoubles());
  EXPECT_EQ(state.epoch, 0);
  EXPECT_EQ(state.best_epoch, 0);
  EXPECT_EQ(state.loss_weight.size(), 2u);
}

TEST_F(StartingStateTest, ResumedRunsStartWhereTheyWere) {
  Checkpoint state = NewState(task_, Plan());
  state.epoch = 3;
  state.batch = 2;
  ASSERT_EQ(Save(state), absl::OkStatus());
  const absl::StatusOr<StartingState> resumed = Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state.epoch, 3);
  EXPECT_EQ(resumed->state.batch, 2);
  EXPECT_EQ(resumed->state.parameters.ToDoubles(), state.parameters.ToDoubles());
  EXPECT_EQ(resumed->path, directory_.checkpoint());
  EXPECT_FALSE(resumed->is_to_be_last);
  EXPECT_THAT(resumed->messages, ElementsAre("goes on from " + directory_.checkpoint() + ": epoch 4, step 0"));
}

TEST_F(StartingStateTest, RefusesAnotherRun) {
  ASSERT_EQ(Save(NewState(task_, Plan())), absl::OkStatus());
  options_.batch_size = 7;
  EXPECT_EQ(Resume().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("batch_size is 7"));
  options_.batch_size = 32;
  split_.train = {0, 1, 4};
  EXPECT_EQ(Resume().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("other examples or another split"));
}

TEST_F(StartingStateTest, NewRunsStartAtGivenParameters) {
  options_.initial_parameters = Tensor::Of<double>({1, 2, 3, 4});
  Checkpoint state = NewState(task_, Plan());
  EXPECT_EQ(state.parameters.ToDoubles(), options_.initial_parameters.ToDoubles());
  state.parameters.mutable_values<double>()[0] = 9;
  EXPECT_EQ(options_.initial_parameters.ToDoubles()[0], 1);
}

// ---- scales of the model

// A toy whose model is w / scale, of which a run may have another scale when it goes on.
class FramedToy : public ToyTask, public FramedModel {
 public:
  explicit FramedToy(double scale) : ToyTask(ToyTaskOptions()), scale_(scale) {}

  std::map<std::string, std::string> ResumeConfig() const override { return {{"filter", filter}, {"loss", loss}}; }
  const FramedModel* framed() const override { return this; }
  ModelFrame Frame() const override {
    ModelFrame frame = {"{}", {}};
    frame.tensors.Set("scale", Tensor::Scalar(scale_));
    return frame;
  }
  bool FrameDependsOn(absl::string_view option) const override { return option == "filter"; }
  absl::Status CarryOver(const ModelFrame& then, Tensor* parameters) const override {
    if (then.tensors.At("scale").dtype() != DType::kF64) return absl::InvalidArgumentError("no scale of type F64");
    const double before = then.tensors.At("scale").ToDoubles()[0];
    if (before < 0) return absl::InvalidArgumentError("a negative scale");
    if (before == 0) return absl::FailedPreconditionError("no scale");
    std::vector<double> values = parameters->ToDoubles();
    for (double& value : values) value *= scale_ / before;
    *parameters = Tensor::Of(values);
    return absl::OkStatus();
  }

  std::string filter = "none", loss = "mse";

 private:
  const double scale_;
};

class FramedStateTest : public StartingStateTest {
 protected:
  FramedStateTest() {
    before_ = WithParameters(2);
    after_.filter = "some";
    options_.overrides = {"all"};
  }
  Checkpoint WithParameters(double scale) {
    Checkpoint state = NewState(FramedToy(scale), Plan());
    state.parameters = Tensor::Of<double>({1, 2, 3, 4});
    state.best_parameters = Tensor::Of<double>({5, 6, 7, 8});
    state.ema_parameters = Tensor::Of<double>({0, 1, 0, 1});
    state.step = 6;
    return state;
  }
  absl::StatusOr<StartingState> GoOn() {
    EXPECT_EQ(Save(before_), absl::OkStatus());
    return ResumedState(after_, Plan(), directory_);
  }

  Checkpoint before_;
  FramedToy after_{8};
};

TEST_F(FramedStateTest, ParametersAreCarriedOver) {
  const absl::StatusOr<StartingState> start = GoOn();
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(4, 8, 12, 16));
  EXPECT_THAT(start->state.best_parameters.ToDoubles(), ElementsAre(20, 24, 28, 32));
  EXPECT_THAT(start->state.ema_parameters.ToDoubles(), ElementsAre(0, 4, 0, 4));
  EXPECT_THAT(start->state.frame.tensors.At("scale").ToDoubles(), ElementsAre(8));
  EXPECT_TRUE(start->new_parts.optimizer);
  EXPECT_THAT(start->messages, Contains(HasSubstr("predictions stay what they were")));
  EXPECT_THAT(start->messages, Contains("the optimizer begins without memory"));
  EXPECT_EQ(start->state.changes, "step 6: filter is \"some\", was \"none\"\n");
}

TEST_F(FramedStateTest, WhatLeavesTheModelAloneLeavesItsBits) {
  before_ = WithParameters(8 * (1 + 1e-9));  // the last digits of another machine
  after_.filter = "none";
  after_.loss = "rmse";
  const absl::StatusOr<StartingState> start = GoOn();
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(start->new_parts.optimizer);
}

// A loss of more terms or of other ones has other sums, and what an example counted under it nobody knows yet.
TEST_F(FramedStateTest, AnotherLossBeginsItsEpochAgain) {
  before_ = WithParameters(8);
  before_.epoch = 1;
  before_.batch = 1;
  before_.epoch_sums = TermSums(1);
  before_.loss_weight = {0.5};
  before_.loss_count = {3};
  after_.filter = "none";
  EXPECT_THAT(GoOn().status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"1 terms", "2"}));
  after_.loss = "rmse";
  const absl::StatusOr<StartingState> start = GoOn();
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->state.batch, 0);
  EXPECT_EQ(start->state.epoch, 1);
  EXPECT_THAT(start->state.epoch_sums.sum, ElementsAre(0, 0));
  EXPECT_THAT(start->state.loss_weight, ElementsAre(0, 0));
  EXPECT_THAT(start->state.loss_count, ElementsAre());
  EXPECT_THAT(start->messages, Contains(HasSubstr("epoch 2 begins again")));
}

TEST_F(FramedStateTest, ARunThatChangesNothingKeepsItsBits) {
  before_ = WithParameters(8 * (1 + 1e-9));
  after_.filter = "none";
  options_.overrides.clear();
  const absl::StatusOr<StartingState> start = GoOn();
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(start->state.changes, "");
}

// Nothing is asked for, but the build scales features otherwise.
TEST_F(FramedStateTest, ScalesOfAnotherBuildAreCarriedOver) {
  after_.filter = "none";
  options_.overrides.clear();
  const absl::StatusOr<StartingState> start = GoOn();
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(4, 8, 12, 16));
  EXPECT_THAT(start->messages, Contains(HasSubstr("predictions stay what they were")));
  before_ = NewState(FramedToy(-1), Plan());
  EXPECT_THAT(GoOn().status(), ErrorNames(absl::StatusCode::kFailedPrecondition, {"version", "a negative scale"}));
}

// x = y + (1 - 1 / beta1) (z - y) is what such an optimizer evaluates; beta1 is 0.9 by default.
TEST_F(FramedStateTest, AScheduleFreeRunGoesOnAtItsModel) {
  before_.optimizer.Set("z", Tensor::Of<double>({10, 2, 3, 4}));
  const absl::StatusOr<StartingState> start = GoOn();
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_NEAR(start->state.parameters.ToDoubles()[0], 4 * (1 + (1 - 1 / 0.9) * 9), 1e-12);
  EXPECT_EQ(start->state.parameters.ToDoubles()[1], 8);
}

TEST_F(FramedStateTest, WhatCannotBeCarriedOverIsRefused) {
  Checkpoint old = before_;
  before_.frame = ModelFrame();
  EXPECT_THAT(GoOn().status(), ErrorNames(absl::StatusCode::kFailedPrecondition,
                                          {"another filter", "did not record its scales", "--init_from"}));
  before_ = NewState(FramedToy(-1), Plan());
  EXPECT_THAT(GoOn().status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"another filter", "a negative scale"}));
  // A damaged file may hold scales of a type that is no number here.
  before_ = WithParameters(2);
  before_.frame.tensors.Set("scale", Tensor::Zeros(DType::kF16, {}));
  EXPECT_THAT(GoOn().status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"another filter", "no scale of type F64"}));
  before_ = NewState(FramedToy(-1), Plan());
  // Whoever would be refused with --override is not sent there, nor to --init_from where that is refused, too.
  options_.overrides.clear();
  EXPECT_THAT(GoOn().status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"a negative scale", "--init_from and"}));
  before_ = NewState(FramedToy(0), Plan());
  const absl::Status none = GoOn().status();
  EXPECT_THAT(none, ErrorNames(absl::StatusCode::kFailedPrecondition, {"no scale", "give what the run had", "too"}));
  EXPECT_THAT(std::string(none.message()), Not(HasSubstr("--override")));
  options_.overrides = {"all"};
  before_ = old;
  before_.optimizer.Set("group1.z", Tensor::Of<double>({1}));
  EXPECT_THAT(GoOn().status(), ErrorNames(absl::StatusCode::kFailedPrecondition, {"group1.z", "damaged"}));
}

// ---- which checkpoint

TEST_F(StartingStateTest, OfADamagedCheckpointThePreviousOneIsOffered) {
  SaveTwo();
  Damage(directory_.checkpoint());
  options_.mode = RunMode::kResume;
  EXPECT_EQ(Resume().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(), HasSubstr(directory_.previous() + " is whole, of epoch 1, step 10: --resume=" +
                                   directory_.previous() + " goes on from there, and so does --resume=auto"));
  options_.mode = RunMode::kResumeOrNew;
  const absl::StatusOr<StartingState> resumed = Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state.step, 10);
  EXPECT_TRUE(resumed->is_to_be_last);
  EXPECT_FALSE(resumed->leaves_previous);
  ASSERT_EQ(resumed->messages.size(), 2u);
  EXPECT_THAT(resumed->messages[1], HasSubstr("it is kept as " + directory_.replaced()));
}

TEST_F(StartingStateTest, ThenNumberedOnesFromTheNewest) {
  SaveTwo();
  SaveNumbered(5);
  SaveNumbered(7);
  SaveNumbered(8);
  for (const std::string& path : {directory_.checkpoint(), directory_.previous(), directory_.step_checkpoint(8)}) {
    Damage(path);
  }
  options_.mode = RunMode::kResumeOrNew;
  EXPECT_EQ(Resume()->path, directory_.step_checkpoint(7));
  EXPECT_TRUE(Resume()->leaves_previous);
  Damage(directory_.step_checkpoint(7));
  Damage(directory_.step_checkpoint(5));
  EXPECT_EQ(Resume().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(), HasSubstr("no other checkpoint that is whole: start a new run"));
}

// Where there are no hard links a process may die before the last checkpoint has its name.
TEST_F(StartingStateTest, WithoutALastOneThePreviousCounts) {
  SaveTwo();
  ASSERT_EQ(std::remove(directory_.checkpoint().c_str()), 0);
  options_.mode = RunMode::kResume;
  EXPECT_EQ(Resume()->state.step, 10);
}

TEST_F(StartingStateTest, ANamedCheckpoint) {
  SaveTwo();
  SaveNumbered(5);
  options_.mode = RunMode::kResume;
  options_.resume_from = directory_.step_checkpoint(5);
  absl::StatusOr<StartingState> resumed = Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state.step, 5);
  EXPECT_TRUE(resumed->is_to_be_last && resumed->leaves_previous);
  options_.resume_from = directory_.checkpoint();
  EXPECT_FALSE(Resume()->is_to_be_last);
  // The checkpoint belongs to another run, whose log and numbered checkpoints are not in this directory.
  Checkpoint state = NewState(task_, Plan());
  state.log_rows = 3;
  state.kept_step = 0;
  state.top.Set("loss", Tensor::Of<double>({1}));
  options_.resume_from = ::testing::TempDir() + "/of_another_run.safetensors";
  ASSERT_EQ(SaveCheckpoint(options_.resume_from, state, task_.parameter_slices(), {}), absl::OkStatus());
  resumed = Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state.log_rows, 0);
  EXPECT_EQ(resumed->state.kept_step, -1);
  EXPECT_TRUE(resumed->state.top.empty());
  EXPECT_TRUE(resumed->is_to_be_last);
  EXPECT_FALSE(resumed->leaves_previous);
}

// ---- changed settings

TEST_F(StartingStateTest, TheLearningRateMayChange) {
  ASSERT_EQ(Save(NewState(task_, Plan())), absl::OkStatus());
  options_.optimizer.learning_rate = 0.5;
  const absl::StatusOr<StartingState> resumed = Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  ASSERT_EQ(resumed->messages.size(), 2u);
  EXPECT_EQ(resumed->messages[1], "learning_rate is 0.5 from here on, was 0.001");
  EXPECT_THAT(resumed->state.config, HasSubstr("\"learning_rate\":0.5"));
}

TEST_F(StartingStateTest, OverridesAreNamed) {
  Checkpoint state = NewState(task_, Plan());
  state.epoch = 2;
  state.batch = 1;
  state.best_epoch = 2;
  state.best_loss = 0.5;
  ASSERT_EQ(Save(state), absl::OkStatus());
  options_.batch_size = 7;
  options_.seed = 5;
  EXPECT_THAT(Message(), HasSubstr("seed is 5, but the run to resume has 4; batch_size is 7, but the run to resume has "
                                   "32; give the same, or --override=seed,batch_size to go on all the same"));
  options_.overrides = {"seed"};
  EXPECT_THAT(Message(),
              HasSubstr(": batch_size is 7, but the run to resume has 32; give the same, or --override=batch_size "));
  options_.overrides = {"seed", "size"};
  EXPECT_THAT(Message(), HasSubstr("override: \"size\" is no option of this run or the one to resume; there are all"));
  for (const std::vector<std::string>& overrides :
       std::vector<std::vector<std::string>>{{"seed", "batch_size", "shuffle"}, {"all"}}) {
    options_.overrides = overrides;
    const absl::StatusOr<StartingState> resumed = Resume();
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->state.batch, 0);  // the epoch's batches are others
    EXPECT_EQ(resumed->state.epoch, 2);
    EXPECT_EQ(resumed->state.best_loss, 0.5);
    EXPECT_EQ(resumed->state.seed, 5u);
    EXPECT_EQ(resumed->messages.size(), 4u);
  }
}

TEST_F(StartingStateTest, OtherDataAreNoticed) {
  options_.data_sha256 = "a";
  Checkpoint state = NewState(task_, Plan());
  state.best_epoch = 2;
  state.best_loss = 0.5;
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_TRUE(Resume().ok());
  options_.data_sha256 = "b";  // as many examples
  EXPECT_EQ(Resume().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(), HasSubstr("the inputs are not the files that the run to resume had"));
  options_.overrides = {"data"};
  const absl::StatusOr<StartingState> resumed = Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state.data_sha256, "b");
  EXPECT_EQ(resumed->state.best_epoch, 0);  // losses cannot be compared
  EXPECT_TRUE(resumed->new_parts.judgment);
  EXPECT_TRUE(WentOnWithOtherData(resumed->state.changes));
  options_.data_sha256 = "";  // a stream: unknown
  options_.overrides.clear();
  EXPECT_EQ(Resume()->state.data_sha256, "a");
}

TEST_F(StartingStateTest, RefusesABatchThatIsNotThere) {
  Checkpoint state = NewState(task_, Plan());
  state.batch = 3;
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("batch 3 of 2; the file is damaged"));
}

TEST_F(StartingStateTest, WeightsMustFitTheExamples) {
  options_.sampling_policy = SamplingPolicy::kErrorWeighted;
  Checkpoint state = NewState(task_, Plan());
  state.sampling_weight = {};
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_TRUE(Resume().ok());  // between epochs there are none
  state.batch = 1;
  for (const std::vector<double>& wrong :
       {std::vector<double>{}, {1, 2}, {0, 0, 0}, {1, 2, -1}, {1, 2, std::stod("nan")}, {1, 2, std::stod("inf")}}) {
    state.sampling_weight = wrong;
    ASSERT_EQ(Save(state), absl::OkStatus());
    EXPECT_EQ(Resume().status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("\"sampling_weight\" is no weight for each of"));
  }
  state.sampling_weight = {0, 1, 2};
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_EQ(Resume()->state.sampling_weight, state.sampling_weight);
}

}  // namespace
}  // namespace rutile
