#include "lib/network/network_shape.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/network/network_init.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(NetworkShapeTest, OffsetsFollowEachOther) {
  const NetworkShape shape{2, 3, {5, 4}, Activation::kTanh};
  EXPECT_EQ(shape.parameters_per_species(), 3 * 5 + 5 + 5 * 4 + 4 + 4 + 1);
  int64_t offset = 0;
  for (int species = 0; species < 2; ++species) {
    for (int layer = 0; layer < 3; ++layer) {
      EXPECT_EQ(shape.weight_offset(species, layer), offset);
      offset += shape.layer_inputs(layer) * shape.layer_outputs(layer);
      EXPECT_EQ(shape.bias_offset(species, layer), offset);
      offset += shape.layer_outputs(layer);
    }
  }
  EXPECT_EQ(offset, shape.num_parameters());
}

TEST(NetworkShapeTest, MomentsComeBeforeTheNetworks) {
  const NetworkShape shape{2, 2 * 8 * 16, {5}, Activation::kTanh, {/*channels=*/7, /*num_radial=*/8, /*max_l=*/3}};
  ASSERT_TRUE(shape.Validate().ok());
  EXPECT_EQ(shape.layer_inputs(0), 7);
  EXPECT_EQ(shape.Networks().num_features, 7);
  EXPECT_FALSE(shape.Networks().has_moments());
  int64_t offset = 0;
  for (int species = 0; species < 2; ++species) {
    EXPECT_EQ(shape.radial_offset(species), offset);
    EXPECT_EQ(shape.product_offset(species), offset += 7 * 4 * 2 * 8);
    EXPECT_EQ(shape.linear_offset(species), offset += 7 * 13);
    EXPECT_EQ(shape.weight_offset(species, 0), offset += 7);
    EXPECT_EQ(shape.bias_offset(species, 0), offset += 7 * 5);
    EXPECT_EQ(shape.weight_offset(species, 1), offset += 5);
    EXPECT_EQ(shape.bias_offset(species, 1), offset += 5);
    offset += 1;
  }
  EXPECT_EQ(shape.num_parameters(), offset);
}

TEST(MomentShapeTest, NumProducts) {
  const int expected[] = {3, 5, 9, 13, 20};
  for (int l = 0; l <= 4; ++l) EXPECT_EQ(MomentShape({1, 8, l}).num_products(), expected[l]) << l;
}

TEST(NetworkShapeTest, RefusesMomentsOutOfRange) {
  const auto message = [](int features, MomentShape moments) {
    return std::string(NetworkShape({2, features, {4}, Activation::kTanh, moments}).Validate().message());
  };
  EXPECT_THAT(message(256, {513, 8, 3}), ErrorNames({"--channels=513"}));
  EXPECT_THAT(message(256, {-1, 8, 3}), ErrorNames({"--channels=-1"}));
  EXPECT_THAT(message(256, {16, 0, 3}), ErrorNames({"--radial_functions=0"}));
  EXPECT_THAT(message(256, {16, 8, 5}), ErrorNames({"--max_l=5"}));
  EXPECT_THAT(message(255, {16, 8, 3}), HasSubstr("255 features"));
  EXPECT_EQ(message(256, {16, 8, 3}), "");
}

MomentShape WithMessages(int max_l, int messages, int vectors) {
  MomentShape moments = {/*channels=*/5, /*num_radial=*/3, max_l, messages};
  moments.vector_messages = vectors;
  return moments;
}

// The layout: first layer, message weights, those of vectors, second layer.
TEST(NetworkShapeTest, VectorsHaveWeightsBehindThoseOfMessages) {
  const NetworkShape with{2, 2 * 3 * 9, {4}, Activation::kTanh, WithMessages(2, 6, 2)};
  const NetworkShape without{2, 2 * 3 * 9, {4}, Activation::kTanh, WithMessages(2, 6, 0)};
  ASSERT_TRUE(with.Validate().ok()) << with.Validate();
  EXPECT_FALSE(with.moments == without.moments);
  EXPECT_EQ(with.moments.message_width(), 6 + 3 * 2);
  EXPECT_EQ(without.moments.message_width(), 6);
  for (int species = 0; species < 2; ++species) {
    EXPECT_EQ(with.message_offset(species), with.weight_offset(species, 2));
    EXPECT_EQ(with.vector_offset(species) - with.message_offset(species), 6 * 5);
    EXPECT_EQ(with.second_layer_offset(species) - with.vector_offset(species), 2 * 5);
  }
  EXPECT_EQ(with.parameters_per_species(), without.parameters_per_species() + 2 * 5);
  EXPECT_EQ(with.second_layer_offset(1) + with.SecondLayer().parameters_per_species(), with.num_parameters());
  EXPECT_EQ(with.FirstLayer().moments, without.FirstLayer().moments);
  EXPECT_EQ(with.SecondLayer().moments, without.SecondLayer().moments);
}

TEST(NetworkShapeTest, RefusesVectorsWithoutWhatTheyNeed) {
  const auto message = [](const MomentShape& moments) {
    const int features = 2 * 3 * moments.num_components();
    return std::string(NetworkShape({2, features, {4}, Activation::kTanh, moments}).Validate().message());
  };
  EXPECT_EQ(message(WithMessages(1, 4, 4)), "");
  EXPECT_THAT(message(WithMessages(1, 4, 5)), ErrorNames({"--vector_messages=5", "0", "4"}));
  EXPECT_THAT(message(WithMessages(1, 4, -1)), ErrorNames({"--vector_messages=-1"}));
  EXPECT_THAT(message(WithMessages(1, 0, 1)), ErrorNames({"--messages=0"}));
  EXPECT_THAT(message(WithMessages(0, 4, 1)), ErrorNames({"--max_l=0"}));
}

TEST(NetworkShapeTest, NoHiddenLayerIsALinearModel) {
  const NetworkShape shape{1, 7, {}, Activation::kTanh};
  EXPECT_EQ(shape.num_layers(), 1);
  EXPECT_EQ(shape.num_parameters(), 8);
  EXPECT_TRUE(shape.Validate().ok());
}

TEST(NetworkShapeTest, RefusesLayersWithoutNodes) {
  EXPECT_THAT(NetworkShape({1, 7, {4, 0}, Activation::kTanh}).Validate().message(), ErrorNames({"--hidden"}));
  EXPECT_FALSE(NetworkShape({1, 7, {5000}, Activation::kTanh}).Validate().ok());
  EXPECT_FALSE(NetworkShape({1, 7, std::vector<int>(17, 2), Activation::kTanh}).Validate().ok());
}

TEST(ActivationTest, NamesComeBack) {
  for (const char* name : {"linear", "tanh", "sigmoid", "mtanh", "twist", "silu"}) {
    const absl::StatusOr<Activation> activation = kActivationNames.Parse(name);
    ASSERT_TRUE(activation.ok());
    EXPECT_EQ(kActivationNames.Name(*activation), name);
  }
  EXPECT_THAT(kActivationNames.Parse("relu").status().message(), HasSubstr("mtanh"));
}

TEST(NetworkInitTest, UniformWithinTheBoundAndFixedByTheSeed) {
  const NetworkShape shape{2, 25, {40, 3}, Activation::kTanh};
  const std::vector<double> parameters = InitialNetworkParameters(shape, 7);
  ASSERT_EQ(static_cast<int64_t>(parameters.size()), shape.num_parameters());
  const auto first = parameters.begin(), last = first + shape.weight_offset(0, 1);
  EXPECT_LE(*std::max_element(first, last), 0.2);
  EXPECT_GE(*std::min_element(first, last), -0.2);
  EXPECT_GT(*std::max_element(first, last), 0.19);
  EXPECT_EQ(parameters, InitialNetworkParameters(shape, 7));
  EXPECT_NE(parameters, InitialNetworkParameters(shape, 8));
  EXPECT_NE(parameters[0], parameters[shape.weight_offset(1, 0)]);  // species differ
  // A wider first layer leaves the last one as it was.
  const NetworkShape wider{2, 25, {50, 3}, Activation::kTanh};
  const std::vector<double> other = InitialNetworkParameters(wider, 7);
  EXPECT_EQ(parameters[shape.weight_offset(1, 2)], other[wider.weight_offset(1, 2)]);
}

}  // namespace
}  // namespace rutile
