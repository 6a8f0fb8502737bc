#include "lib/potential/model/labels/label_range.h"

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(FindFitOutlierTest, NamesTheFarthest) {
  const std::vector<double> targets = {0.1, -19.9, -175, 30, 1e9, 0};
  EXPECT_FALSE(FindFitOutlier(targets, {}).has_value());
  EXPECT_FALSE(FindFitOutlier(targets, {0, 1, 5}).has_value());
  const std::optional<FitOutlier> found = FindFitOutlier(targets, {0, 1, 2, 3, 5});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->structure, 2);
  EXPECT_EQ(found->residual, -175);
  EXPECT_EQ(found->median, 19.9);
  EXPECT_EQ(found->beyond, 2);
}

// If energies have two references, half and half, no structure stands out.
TEST(FindFitOutlierTest, TwoReferences) {
  const std::optional<FitOutlier> found = FindFitOutlier({400, -400, 400, -400}, {0, 1, 2, 3});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->beyond, 4);
  EXPECT_EQ(found->median, 400);
}

AtomicData TwoFrames() {
  const std::string path = ::testing::TempDir() + "/large.xyz";
  std::ofstream file(path);
  for (const char* force : {"0", "1e25"}) {
    file << "1\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-4 stress=\"1e25 0 0 0 "
            "0 0 "
            "0 0 0\"\nO 0 0 0 0 "
         << force << " 0\n";
  }
  file.close();
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {8};
  return *AtomicData::Read({path}, options);
}

TEST(CheckLabelRangeTest, NamesTheStructure) {
  const AtomicData data = TwoFrames();
  const auto error = [&](const std::vector<double>& targets, double force, double stress, DType precision) {
    AtomisticTaskOptions options;
    options.precision = precision;
    options.loss.force_weight = force;
    options.loss.stress_weight = stress;
    return std::string(CheckLabelRange(data, targets, options, {0, 1}).message());
  };
  EXPECT_EQ(error({0, 1}, 0, 0, DType::kF32), "");
  EXPECT_EQ(error({1e17, -1e17}, 0, 0, DType::kF32), "");
  EXPECT_THAT(error({1e18, -2e18}, 0, 0, DType::kF32),
              AllOf(HasSubstr(data.name(1) + ": its energy, -4 eV"), HasSubstr("by -2e+18 eV per atom"),
                    HasSubstr("fp32"), HasSubstr("--max_energy")));
  EXPECT_EQ(error({1e18, -2e18}, 0, 0, DType::kF64), "");
  EXPECT_THAT(error({1e151, 0}, 0, 0, DType::kF64), HasSubstr(data.name(0)));
  EXPECT_THAT(error({0, kNan}, 0, 0, DType::kF64), HasSubstr(data.name(1)));
  // Labels that are not learned may be large.
  EXPECT_THAT(error({0, 1}, 0.5, 0, DType::kF32),
              AllOf(HasSubstr(data.name(1) + ": a force component is 1e+25"), HasSubstr("--max_forces")));
  EXPECT_THAT(error({0, 1}, 0, 0.5, DType::kF32), HasSubstr(data.name(0) + ": a stress component is 1e+25"));
  EXPECT_EQ(error({0, 1}, 0.5, 0.5, DType::kF64), "");
}

}  // namespace
}  // namespace rutile
