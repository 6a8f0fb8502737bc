#include "lib/potential/model/labels/counted_labels.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/file/file.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Structure 0 has an energy, 1 forces, too, 2 both and the weight 0.
AtomicData Data() {
  const std::string path = ::testing::TempDir() + "/labels.extxyz";
  const std::string text =
      "1\nenergy=-1 w=1\nTi 0 0 0\n"
      "1\nenergy=-1 w=2 Properties=species:S:1:pos:R:3:forces:R:3\nTi 0 0 0 0 0 1\n"
      "1\nenergy=-1 w=0 Properties=species:S:1:pos:R:3:forces:R:3\nTi 0 0 0 0 0 1\n";
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22};
  options.weight_key = "w";
  absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  return *data;
}

LossOptions Loss(double energy, double force) {
  LossOptions loss;
  loss.energy_weight = energy;
  loss.force_weight = force;
  return loss;
}

TEST(CountedLabelsTest, NamesTermsThatASetLacks) {
  const AtomicData data = Data();
  EXPECT_THAT(TermsWithoutLabels(data, Loss(0.1, 0.9), {0, 1}, "validation"), IsEmpty());
  EXPECT_THAT(TermsWithoutLabels(data, Loss(0.1, 0.9), {0}, "validation"),
              ElementsAre(AllOf(HasSubstr("--force_weight=0.9"), HasSubstr("none of the 1 validation structures has "
                                                                           "forces: "))));
  EXPECT_THAT(TermsWithoutLabels(data, Loss(0.1, 0.9), {0, 2}, "training"),
              ElementsAre(HasSubstr("none of the 2 training structures has forces and a weight above 0")));
  EXPECT_THAT(TermsWithoutLabels(data, Loss(1, 0), {0}, "validation"), IsEmpty());
}

TEST(CountedLabelsTest, CountsWhatErrorsAreOver) {
  const AtomicData data = Data();
  const std::vector<LabelCount> counts = CountLabels(data, Loss(0.1, 0.9), {0, 1, 2});
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].label, "energies");
  EXPECT_EQ(counts[0].count, 3);
  EXPECT_EQ(counts[1].label, "forces");
  EXPECT_EQ(counts[1].count, 2);
  EXPECT_EQ(CountLabels(data, Loss(1, 0), {0, 1, 2}).size(), 1u);
  EXPECT_THAT(PartialLabels(data, Loss(0.1, 0.9), {0, 1, 2}, "test"),
              ElementsAre(HasSubstr("2 of 3 test structures have forces")));
  EXPECT_THAT(PartialLabels(data, Loss(0.1, 0.9), {1, 2}, "test"), IsEmpty());
  EXPECT_THAT(PartialLabels(data, Loss(1, 0), {0, 1, 2}, "test"), IsEmpty());
}

TEST(CountedLabelsTest, AMeasureOfNothingIsRefused) {
  const AtomicData data = Data();
  const auto status = [&](double energy, double force, const std::vector<int64_t>& set, const char* monitor) {
    return CheckMonitored(data, Loss(energy, force), set, monitor);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(status(0, 1, {0}, ""), ErrorNames(kInvalid, {"none of its 1 structures", "--force_weight=1"}));
  EXPECT_THAT(status(1, 0, {2}, "val_loss"), ErrorNames(kInvalid, {"weight above 0", "--energy_weight=1"}));
  EXPECT_THAT(status(0.1, 0.9, {0}, "val_force_rmse"), ErrorNames(kInvalid, {"--monitor=val_force_rmse", "forces"}));
  EXPECT_EQ(status(0.1, 0.9, {0}, ""), absl::OkStatus());
  EXPECT_EQ(status(0, 1, {0}, "val_energy_rmse"), absl::OkStatus());
  EXPECT_EQ(status(1, 0, {2}, "val_energy_rmse"), absl::OkStatus());
  EXPECT_EQ(status(1, 0, {2}, "train_loss"), absl::OkStatus());
  EXPECT_EQ(status(0, 1, {}, ""), absl::OkStatus());
}

}  // namespace
}  // namespace rutile
