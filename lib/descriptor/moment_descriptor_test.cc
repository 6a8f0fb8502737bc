#include "lib/descriptor/moment_descriptor.h"

#include <vector>

#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/moment_reference.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {
namespace {

TEST(MomentDescriptorTest, EqualsTheFeaturesOfTheDerivatives) {
  for (const RadialBasis basis : {RadialBasis::kBessel, RadialBasis::kChebyshev}) {
    MomentOptions options;
    options.species = {8, 22};
    options.basis = basis;
    options.max_l = 4;
    const Structure structure = RandomStructure(7, 4.5, 3);
    const std::vector<uint8_t> species = {0, 1, 1, 0, 1, 0, 0};
    const auto descriptor = MakeMomentDescriptor(options);
    const auto reference = MakeMomentReference<double>(options);
    EXPECT_EQ(descriptor->num_features(), reference->num_features());
    EXPECT_EQ(descriptor->cutoff(), 5);

    const SampleGeometry sample(structure, species, options.cutoff);
    std::vector<double> expected(7 * options.num_features()), found(expected.size(), -1);
    reference->Features(sample.Get(), reference->MakeState().get(), absl::MakeSpan(expected));
    NeighborList neighbors;  // to more than the cutoff
    CHECK(BruteForceNeighborList(structure, 5.5, &neighbors).ok());
    const auto workspace = descriptor->MakeWorkspace();
    descriptor->Compute(species, neighbors, workspace.get(), absl::MakeSpan(found));
    std::vector<float> rounded(expected.size(), -1);
    descriptor->Compute(species, neighbors, workspace.get(), absl::MakeSpan(rounded));
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_NEAR(found[k], expected[k], 1e-12) << k;  // r_ij differ in their last digits
      ASSERT_EQ(rounded[k], static_cast<float>(found[k])) << k;
    }
  }
}

}  // namespace
}  // namespace rutile
