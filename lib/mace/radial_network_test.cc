#include "lib/mace/radial_network.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/mace/mace_testing.h"

namespace rutile {
namespace {

// The network by its definition, at one distance.
std::vector<double> Definition(const MaceModel& model, const MaceLayer& layer, double r) {
  const double x = r / model.neighborhood.cutoff;
  const int p = model.neighborhood.envelope;
  const double f = 1 - 0.5 * (p + 1) * (p + 2) * std::pow(x, p) + p * (p + 2) * std::pow(x, p + 1) -
                   0.5 * p * (p + 1) * std::pow(x, p + 2);
  std::vector<double> in;
  for (const double w : model.frequency) in.push_back(std::sin(w * r) / r * f);
  for (size_t m = 0; m < layer.radial.size(); ++m) {
    std::vector<double> out(layer.radial[m].size() / in.size(), 0.0);
    for (size_t i = 0; i < in.size(); ++i) {
      for (size_t o = 0; o < out.size(); ++o) out[o] += in[i] * layer.radial[m][i * out.size() + o];
    }
    for (double& v : out) v = m + 1 < layer.radial.size() ? v / (1 + std::exp(-v)) : v;
    in = out;
  }
  return in;
}

TEST(RadialNetworkTest, AgreesWithTheDefinitionAndItsDifferences) {
  const MaceModel model = RandomMace({{8, 1}, 3, 4, 2, 5, 2, false}, 3);
  const int64_t stride = 8, functions = 3 * stride;
  RadialNetwork network(model, model.layers[1], stride);
  std::vector<double> distance;
  for (int e = 0; e < 37; ++e) distance.push_back(0.3 + 2.7 * e / 36);  // the last is the cutoff
  std::vector<double> value(37 * functions), slope(value.size()), alone(functions);
  network.Compute(distance.data(), 37, value.data(), slope.data());
  for (int e = 0; e < 37; ++e) {
    const double r = distance[e];
    const std::vector<double> expected = Definition(model, model.layers[1], r);
    const std::vector<double> above = Definition(model, model.layers[1], r + 1e-5);
    const std::vector<double> below = Definition(model, model.layers[1], r - 1e-5);
    network.Compute(&r, 1, alone.data(), nullptr);
    for (int l = 0; l < 3; ++l) {
      for (int k = 0; k < stride; ++k) {
        const int at = l * stride + k;
        EXPECT_EQ(alone[at], value[e * functions + at]) << "a row is the same in any block";
        if (k >= 5) {
          EXPECT_EQ(alone[at], 0);
          continue;
        }
        EXPECT_NEAR(alone[at], expected[l * 5 + k], 1e-13);
        EXPECT_NEAR(slope[e * functions + at], (above[l * 5 + k] - below[l * 5 + k]) / 2e-5, 1e-7);
      }
    }
  }
}

}  // namespace
}  // namespace rutile
