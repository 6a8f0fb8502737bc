#include "lib/potential/atomistic_model.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/potential_file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

struct Fixture {
  explicit Fixture(AtomisticTaskOptions options = {}) : options(std::move(options)) {
    AtomicDataOptions data_options;
    data_options.descriptor.emplace();
    data_options.descriptor->species = {22, 8};
    data_options.descriptor->rad_order = 3;
    data_options.descriptor->rad_cutoff = 3;
    data_options.descriptor->ang_cutoff = 3;
    data = *AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, data_options);
    features = *FeatureSource::Create(*data, AngularMethod::kMoments, DType::kF64, true, 1);
  }
  absl::StatusOr<AtomisticModel> Create(const std::vector<int64_t>& train) {
    return AtomisticModel::Create(*data, *features, options, train);
  }
  AtomisticTaskOptions options;
  std::optional<AtomicData> data;
  std::optional<FeatureSource> features;
};

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> range(end - begin);
  std::iota(range.begin(), range.end(), begin);
  return range;
}

TEST(AtomisticModelTest, DependsOnTheTrainingStructuresAlone) {
  AtomisticTaskOptions options;
  options.atomic_energies = {{22, -1.0}, {8, -2.0}};
  Fixture setup(options);
  const AtomisticModel model = *setup.Create(Range(0, 50));
  double low = 1e300, high = -1e300;
  for (int64_t s = 0; s < 50; ++s) {
    low = std::min(low, model.targets()[s]);
    high = std::max(high, model.targets()[s]);
  }
  EXPECT_DOUBLE_EQ(model.energy_scaling().scale, 2 / (high - low));
  EXPECT_DOUBLE_EQ(model.energy_scaling().shift, (high + low) / 2);
  EXPECT_NE(setup.Create(Range(50, 100))->feature_scaling().mean, model.feature_scaling().mean);
  EXPECT_FALSE(model.atomic_energies_fitted());
}

// A network rests when all of its slices do.
TEST(AtomisticModelTest, KnowsWhichNetworksRest) {
  Fixture setup;
  const AtomisticModel model = *setup.Create(Range(0, 50));
  const size_t slices = model.parameter_slices().size();
  std::vector<bool> resting(slices);
  EXPECT_TRUE(model.RestingNetworks({}).empty());
  EXPECT_EQ(model.RestingNetworks(resting), (std::vector<bool>{false, false}));
  for (size_t s = slices / 2; s < slices; ++s) resting[s] = true;
  EXPECT_EQ(model.RestingNetworks(resting), (std::vector<bool>{false, true}));
  resting[0] = true;
  EXPECT_EQ(model.RestingNetworks(resting), (std::vector<bool>{false, true}));
  resting[slices - 1] = false;
  EXPECT_EQ(model.RestingNetworks(resting), (std::vector<bool>{false, false}));
}

TEST(AtomisticModelTest, FitsAtomicEnergiesWhereNoneAreGiven) {
  Fixture setup;
  const AtomisticModel model = *setup.Create(Range(0, 403));
  EXPECT_TRUE(model.atomic_energies_fitted());
  double mean = 0;
  for (const double target : model.targets()) mean += target / 403;
  EXPECT_LT(std::abs(mean), 1.0);  // total energies are about -800 eV per atom
}

TEST(AtomisticModelTest, WritesAPotentialThatReadsBack) {
  AtomisticTaskOptions options;
  options.hidden = {4};
  options.precision = DType::kF64;
  Fixture setup(options);
  const AtomisticModel model = *setup.Create(Range(0, 20));
  int64_t parameters = 0;
  for (const ParameterSlice& slice : model.parameter_slices()) {
    EXPECT_EQ(slice.offset, parameters);
    int64_t size = 1;
    for (const int64_t n : slice.shape) size *= n;
    parameters += size;
  }
  EXPECT_EQ(parameters, model.shape().num_parameters());
  const std::string path = ::testing::TempDir() + "/model.safetensors";
  const Tensor values = model.InitialParameters(5);
  ASSERT_TRUE(model.Write(path, values, {{"epoch", "3"}}).ok());
  const absl::StatusOr<Potential> potential = ReadPotential(path);
  ASSERT_TRUE(potential.ok()) << potential.status();
  EXPECT_EQ(potential->parameters.ToDoubles(), values.ToDoubles());
  EXPECT_EQ(potential->feature_scaling.mean, model.feature_scaling().mean);
  EXPECT_EQ(potential->atomic_energies, model.atomic_energies());
  EXPECT_FALSE(potential->feature_range.min.empty());
}

TEST(AtomisticModelTest, SaysWhatIsMissing) {
  AtomisticTaskOptions options;
  options.atomic_energies = {{8, -2.0}};
  EXPECT_THAT(Fixture(options).Create({0}).status().message(), HasSubstr("none for Ti"));
  EXPECT_FALSE(Fixture().Create({}).ok());
  options = {};
  options.hidden = {0};
  EXPECT_THAT(Fixture(options).Create({0}).status().message(), HasSubstr("--hidden"));
}

}  // namespace
}  // namespace rutile
