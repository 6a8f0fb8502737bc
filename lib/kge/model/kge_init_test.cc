#include "lib/kge/model/kge_init.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

KgeShape Shape(ConveVariant variant) {
  KgeShape shape;
  shape.options.variant = variant;
  shape.num_entities = 500;
  shape.num_relations = 20;
  return shape;
}

std::vector<double> Part(const KgeShape& shape, const std::vector<double>& parameters, absl::string_view name) {
  for (const ParameterSlice& slice : shape.Slices()) {
    if (slice.name != name) continue;
    const int64_t size = slice.num_elements();
    return {parameters.begin() + slice.offset, parameters.begin() + slice.offset + size};
  }
  return {};
}

double Deviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

double Largest(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(InitialKgeParametersTest, WeightsAreSpreadAsTheProjectsDo) {
  const KgeShape shape = Shape(ConveVariant::kDettmers);
  const std::vector<double> parameters = InitialKgeParameters(shape, 1);
  ASSERT_EQ(static_cast<int64_t>(parameters.size()), shape.offsets().size);
  EXPECT_NEAR(Deviation(Part(shape, parameters, "entity.weight")), std::sqrt(2.0 / 700), 2e-4);
  EXPECT_NEAR(Deviation(Part(shape, parameters, "relation.weight")), std::sqrt(2.0 / 220), 3e-3);
  EXPECT_EQ(Largest(Part(shape, parameters, "entity.bias")), 0);
  // Uniform in +-1/sqrt(9) and +-1/sqrt(9728).
  EXPECT_LT(Largest(Part(shape, parameters, "conv.weight")), 1.0 / 3);
  EXPECT_GT(Largest(Part(shape, parameters, "conv.weight")), 0.32);
  EXPECT_LT(Largest(Part(shape, parameters, "fc.weight")), 1 / std::sqrt(9728));
  EXPECT_NEAR(Deviation(Part(shape, parameters, "fc.weight")), 1 / std::sqrt(3 * 9728.0), 1e-5);
  EXPECT_GT(Largest(Part(shape, parameters, "fc.bias")), 0.9 / std::sqrt(9728));
}

TEST(InitialKgeParametersTest, TensorsHaveTheSameNumbers) {
  const KgeShape shape = Shape(ConveVariant::kTiepin);
  const std::vector<double> parameters = InitialKgeParameters(shape, 3);
  EXPECT_EQ(InitialKgeTensor(shape, 3, DType::kF64).ToDoubles(), parameters);
  const Tensor rounded = InitialKgeTensor(shape, 3, DType::kF32);
  ASSERT_EQ(rounded.num_elements(), static_cast<int64_t>(parameters.size()));
  for (size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_EQ(rounded.values<float>()[i], static_cast<float>(parameters[i])) << i;
  }
}

TEST(InitialKgeParametersTest, EmbeddingsAreDrawnAsAsked) {
  KgeShape shape = Shape(ConveVariant::kLibkge);
  const std::vector<double> conv = Part(shape, InitialKgeParameters(shape, 1), "conv.weight");
  for (const double scale : {1e-3, 0.8}) {
    for (const char* table : {"entity.weight", "relation.weight"}) {
      shape.options.init = {EmbeddingInitKind::kNormal, scale};
      EXPECT_NEAR(Deviation(Part(shape, InitialKgeParameters(shape, 1), table)) / scale, 1, 0.05) << table;
      shape.options.init = {EmbeddingInitKind::kUniform, scale};
      const std::vector<double> uniform = Part(shape, InitialKgeParameters(shape, 1), table);
      EXPECT_NEAR(Deviation(uniform) / scale, 1 / std::sqrt(3.0), 0.02) << table;
      EXPECT_LE(Largest(uniform), scale) << table;
    }
  }
  EXPECT_EQ(Part(shape, InitialKgeParameters(shape, 1), "conv.weight"), conv);
}

TEST(InitialKgeParametersTest, TiepinDrawsConvAndFcNormal) {
  const KgeShape shape = Shape(ConveVariant::kTiepin);
  const std::vector<double> parameters = InitialKgeParameters(shape, 1);
  EXPECT_NEAR(Deviation(Part(shape, parameters, "conv.weight")), std::sqrt(2.0 / (9 + 9 * 32)), 0.01);
  EXPECT_NEAR(Deviation(Part(shape, parameters, "fc.weight")), std::sqrt(2.0 / (200 + 32 * 18 * 18)), 2e-5);
  EXPECT_GT(Largest(Part(shape, parameters, "conv.bias")), 0.1);
}

TEST(InitialKgeParametersTest, NormsBeginAsTheIdentity) {
  const KgeShape shape = Shape(ConveVariant::kTiepin);
  const std::vector<double> parameters = InitialKgeParameters(shape, 1);
  for (const char* name : {"bn0", "bn1", "bn2"}) {
    for (const double value : Part(shape, parameters, std::string(name) + ".weight")) EXPECT_EQ(value, 1);
    for (const double value : Part(shape, parameters, std::string(name) + ".running_var")) EXPECT_EQ(value, 1);
    EXPECT_EQ(Largest(Part(shape, parameters, std::string(name) + ".bias")), 0);
    EXPECT_EQ(Largest(Part(shape, parameters, std::string(name) + ".running_mean")), 0);
  }
}

TEST(InitialKgeParametersTest, SeedsDifferAndSlicesAreIndependent) {
  KgeShape shape = Shape(ConveVariant::kDettmers);
  const std::vector<double> one = InitialKgeParameters(shape, 1);
  EXPECT_EQ(one, InitialKgeParameters(shape, 1));
  EXPECT_NE(one, InitialKgeParameters(shape, 2));
  const std::vector<double> conv = Part(shape, one, "conv.weight");
  shape.num_relations = 21;
  EXPECT_EQ(conv, Part(shape, InitialKgeParameters(shape, 1), "conv.weight"));
}

}  // namespace
}  // namespace rutile
