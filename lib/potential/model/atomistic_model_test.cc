#include "lib/potential/model/atomistic_model.h"

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

struct Fixture {
  explicit Fixture(AtomisticTaskOptions options = {},
                   const std::vector<std::pair<std::string, double>>& config_weights = {})
      : options(std::move(options)) {
    AtomicDataOptions data_options;
    data_options.config_weights = config_weights;
    data_options.descriptor.emplace();
    data_options.descriptor->chebyshev().species = {22, 8};
    data_options.descriptor->chebyshev().rad_order = 3;
    data_options.descriptor->chebyshev().rad_cutoff = 3;
    data_options.descriptor->chebyshev().ang_cutoff = 3;
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

// A network is frozen when all of its slices are.
TEST(AtomisticModelTest, KnowsWhichNetworksRest) {
  Fixture setup;
  const AtomisticModel model = *setup.Create(Range(0, 50));
  const size_t slices = model.parameter_slices().size();
  std::vector<bool> frozen(slices);
  EXPECT_TRUE(model.FrozenNetworks({}).empty());
  EXPECT_EQ(model.FrozenNetworks(frozen), (std::vector<bool>{false, false}));
  for (size_t s = slices / 2; s < slices; ++s) frozen[s] = true;
  EXPECT_EQ(model.FrozenNetworks(frozen), (std::vector<bool>{false, true}));
  frozen[0] = true;
  EXPECT_EQ(model.FrozenNetworks(frozen), (std::vector<bool>{false, true}));
  frozen[slices - 1] = false;
  EXPECT_EQ(model.FrozenNetworks(frozen), (std::vector<bool>{false, false}));
}

TEST(AtomisticModelTest, FitsAtomicEnergiesWhereNoneAreGiven) {
  Fixture setup;
  const AtomisticModel model = *setup.Create(Range(0, 403));
  EXPECT_TRUE(model.atomic_energies_fitted());
  double mean = 0;
  for (const double target : model.targets()) mean += target / 403;
  EXPECT_LT(std::abs(mean), 1.0);  // total energies are about -800 eV per atom
}

void ExpectSame(const AtomisticModel& a, const AtomisticModel& b) {
  EXPECT_EQ(a.atomic_energies(), b.atomic_energies());
  EXPECT_EQ(a.energy_scaling().scale, b.energy_scaling().scale);
  EXPECT_EQ(a.energy_scaling().shift, b.energy_scaling().shift);
  EXPECT_EQ(a.feature_scaling().mean, b.feature_scaling().mean);
  EXPECT_EQ(a.feature_scaling().scale, b.feature_scaling().scale);
  EXPECT_EQ(a.feature_range().min, b.feature_range().min);
  EXPECT_EQ(a.feature_range().max, b.feature_range().max);
}

// Weights count in the model too: weight 0 is no structure, to the bit, and 2 is the structure twice.
TEST(AtomisticModelTest, WeightsAreNumbersOfStructures) {
  Fixture plain, without({}, {{"anat*", 0}}), heavy({}, {{"anat*", 2}}), even({}, {{"*", 1}});
  const std::vector<int64_t> train = Range(0, 403);
  std::vector<int64_t> others, twice;
  for (const int64_t s : train) {
    const bool is_anatase = plain.data->config_type(s).compare(0, 4, "anat") == 0;
    if (!is_anatase) others.push_back(s);
    twice.insert(twice.end(), is_anatase ? 2 : 1, s);
  }
  ASSERT_GT(others.size(), 10);
  ASSERT_LT(others.size(), 400);
  ExpectSame(*without.Create(train), *plain.Create(others));
  ExpectSame(*even.Create(train), *plain.Create(train));
  const AtomisticModel weighted = *heavy.Create(train), expected = *plain.Create(twice);
  EXPECT_NE(weighted.feature_scaling().mean, plain.Create(train)->feature_scaling().mean);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(weighted.atomic_energies()[i], expected.atomic_energies()[i], 1e-11);
  EXPECT_NEAR(weighted.energy_scaling().scale, expected.energy_scaling().scale, 1e-11);
  const FeatureScaling &a = weighted.feature_scaling(), &b = expected.feature_scaling();
  for (size_t i = 0; i < a.mean.size(); ++i) {
    EXPECT_NEAR(a.mean[i], b.mean[i], 1e-12 * (1 + std::abs(b.mean[i])));
    EXPECT_NEAR(a.scale[i], b.scale[i], 1e-9 * b.scale[i]);  // a variance loses digits
  }
  std::vector<int64_t> anatase;
  for (const int64_t s : train) {
    if (without.data->weight(s) == 0) anatase.push_back(s);
  }
  EXPECT_THAT(without.Create(anatase).status().message(), HasSubstr("every training structure has weight 0"));
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
