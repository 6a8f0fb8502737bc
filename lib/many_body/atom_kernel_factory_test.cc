#include "lib/many_body/atom_kernel_factory.h"

#include <cmath>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"

namespace rutile {
namespace {

NetworkShape ManyBodyShape() { return {2, 2 * 8 * 16, {5}, Activation::kTanh, {/*channels=*/40, 8, 3}}; }

// The root of the mean square of a range.
double Deviation(const std::vector<double>& values, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += values[i] * values[i];
  return std::sqrt(sum / (end - begin));
}

TEST(InitialAtomParametersTest, EachGroupHasItsDeviation) {
  const NetworkShape shape = ManyBodyShape();
  const std::vector<double> p = InitialAtomParameters(shape, 3);
  ASSERT_EQ(p.size(), shape.num_parameters());
  const std::vector<double> networks = InitialNetworkParameters(shape.Networks(), 3);
  const int64_t per_network = shape.Networks().parameters_per_species();
  for (int s = 0; s < 2; ++s) {
    EXPECT_NEAR(Deviation(p, shape.radial_offset(s), shape.product_offset(s)), 1, 0.06);
    EXPECT_NEAR(Deviation(p, shape.product_offset(s), shape.linear_offset(s)), 1.0 / 13, 0.2 / 13);
    EXPECT_NEAR(Deviation(p, shape.linear_offset(s), shape.weight_offset(s, 0)), 1, 0.4);
    for (int64_t i = 0; i < per_network; ++i) {
      EXPECT_EQ(p[shape.weight_offset(s, 0) + i], networks[s * per_network + i]);
    }
  }
  EXPECT_NE(p[0], p[shape.radial_offset(1)]);
  EXPECT_EQ(p, InitialAtomParameters(shape, 3));
  EXPECT_NE(p, InitialAtomParameters(shape, 4));
}

TEST(InitialAtomParametersTest, MoreChannelsLeaveTheFirstOnesAsTheyWere) {
  NetworkShape wider = ManyBodyShape();
  wider.moments.channels = 48;
  EXPECT_EQ(InitialAtomParameters(ManyBodyShape(), 3)[1000], InitialAtomParameters(wider, 3)[1000]);
}

// Those of vectors are drawn besides, so that a potential with them starts as one without, but for what they send.
TEST(InitialAtomParametersTest, VectorsLeaveTheOthersAsTheyWere) {
  NetworkShape without = ManyBodyShape();
  without.moments.messages = 16;
  NetworkShape with = without;
  with.moments.vector_messages = 12;
  const std::vector<double> p = InitialAtomParameters(with, 3), plain = InitialAtomParameters(without, 3);
  ASSERT_EQ(p.size(), with.num_parameters());
  ASSERT_EQ(plain.size(), without.num_parameters());
  const int64_t first = with.vector_offset(0), second = without.second_layer_offset(0);
  for (int s = 0; s < 2; ++s) {
    const double* const of_species = p.data() + s * with.parameters_per_species();
    const double* const of_plain = plain.data() + s * without.parameters_per_species();
    for (int64_t i = 0; i < first; ++i) EXPECT_EQ(of_species[i], of_plain[i]) << i;
    EXPECT_NEAR(Deviation(p, with.vector_offset(s), with.second_layer_offset(s)), 1, 0.1);
    for (int64_t i = second; i < without.parameters_per_species(); ++i) {
      EXPECT_EQ(of_species[i + 12 * 40], of_plain[i]) << i;
    }
  }
  EXPECT_NE(p[with.vector_offset(0)], p[with.message_offset(0)]);
  EXPECT_NE(p[with.vector_offset(0)], p[with.vector_offset(1)]);
}

TEST(MakeAtomKernelTest, PlainNetworksAreThoseOfNetworkKernel) {
  const NetworkShape shape = {1, 2, {3}, Activation::kTanh};
  const std::vector<double> p = InitialAtomParameters(shape, 1);
  EXPECT_EQ(p, InitialNetworkParameters(shape, 1));
  const std::vector<double> x = {0.3, -0.2};
  const std::vector<int64_t> offset = {0, 1};
  const std::vector<int32_t> structure = {0};
  double expected = 0, actual = 0;
  NetworkKernel<double>(shape).Evaluate(p, {x, offset, structure}, absl::MakeSpan(&expected, 1));
  MakeAtomKernel<double>(shape)->Evaluate(p, {x, offset, structure}, absl::MakeSpan(&actual, 1));
  EXPECT_EQ(actual, expected);
}

}  // namespace
}  // namespace rutile
