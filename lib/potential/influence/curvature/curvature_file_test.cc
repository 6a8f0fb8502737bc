#include "lib/potential/influence/curvature/curvature_file.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

Curvature Example() {
  Curvature curvature;
  curvature.model = ModelDigest(AwkwardPotential({3}, Activation::kTanh));
  curvature.columns = {{2, 4}, {7, 8}};
  curvature.inverse = InverseOfFactor({1.5, 0, 0, -2, 3, 0, 0.1, 0.2, 0.3});
  curvature.energy_scale = 1.0 / 3;
  curvature.force_scale = 2;
  curvature.energy_curvature = 0.5;
  curvature.metadata = {{"damping", "trace:0.1"}};
  return curvature;
}

// A curvature of kind curvature/2, which holds rows.
Curvature RowsExample() {
  Curvature curvature = Example();
  curvature.inverse = InverseOfScaledRows({{0.5, -2, 1, 0.25, 3, 7}, {0.1, 0.2, 0.7}}, nullptr);
  return curvature;
}

std::string Path() { return ::testing::TempDir() + "/curvature.safetensors"; }

TEST(CurvatureFileTest, ReadsBackToTheBit) {
  const Curvature written = Example();
  ASSERT_TRUE(WriteCurvature(Path(), written).ok());
  const auto read = ReadCurvature(Path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->path, Path());
  EXPECT_EQ(read->model, written.model);
  EXPECT_EQ(read->inverse->Factor(), written.inverse->Factor());
  ASSERT_EQ(read->columns.size(), 2u);
  EXPECT_EQ(read->columns[1].begin, 7);
  EXPECT_EQ(read->size(), 3);
  EXPECT_EQ(read->energy_scale, written.energy_scale);
  EXPECT_EQ(read->force_scale, written.force_scale);
  EXPECT_EQ(read->energy_curvature, written.energy_curvature);
  EXPECT_EQ(read->metadata.at("damping"), "trace:0.1");
  EXPECT_TRUE(CheckSchema(CurvatureSchema(), *ReadTensorFile(Path())).ok());
}

TEST(CurvatureFileTest, ReadsRowsBackToTheBit) {
  const Curvature written = RowsExample();
  ASSERT_TRUE(WriteCurvature(Path(), written).ok());
  const auto read = ReadCurvature(Path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->inverse->Factor().empty());
  EXPECT_EQ(read->inverse->Rows().rows, written.inverse->Rows().rows);
  EXPECT_EQ(read->inverse->Rows().inverse_root, written.inverse->Rows().inverse_root);
  EXPECT_TRUE(CheckSchema(CurvatureRowsSchema(), *ReadTensorFile(Path())).ok());
}

TEST(CurvatureFileTest, TheDigestKnowsWhatGradientsDependOn) {
  const Potential potential = AwkwardPotential({3}, Activation::kTanh);
  const std::string digest = ModelDigest(potential);
  EXPECT_NE(digest, ModelDigest(AwkwardPotential({3}, Activation::kSigmoid)));
  EXPECT_NE(digest, ModelDigest(AwkwardPotential({4}, Activation::kTanh)));
  Potential other = potential;
  other.parameters = Tensor::Of(potential.parameters.ToDoubles());
  other.parameters.mutable_values<double>()[5] += 1e-15;
  EXPECT_NE(digest, ModelDigest(other));
  other = potential;
  other.energy_scaling.scale *= 2;
  EXPECT_NE(digest, ModelDigest(other));
  other = potential;
  other.feature_scaling.scale[4] += 1e-9;
  EXPECT_NE(digest, ModelDigest(other));
  other = potential;
  other.atomic_energies[0] += 1;  // changes no gradient
  EXPECT_EQ(digest, ModelDigest(other));
  // The same numbers in another type are the same model.
  const std::vector<double> doubles = potential.parameters.ToDoubles();
  const std::vector<float> rounded(doubles.begin(), doubles.end());
  Potential single = potential, wide = potential;
  single.parameters = Tensor::Of(rounded);
  wide.parameters = Tensor::Of(std::vector<double>(rounded.begin(), rounded.end()));
  EXPECT_EQ(ModelDigest(single), ModelDigest(wide));
}

TEST(CurvatureFileTest, RefusesAnotherModel) {
  Curvature curvature = Example();
  curvature.path = "c.safetensors";
  const Potential potential = AwkwardPotential({3}, Activation::kTanh);
  EXPECT_TRUE(CheckCurvatureOf(curvature, potential, "m.safetensors").ok());
  EXPECT_THAT(CheckCurvatureOf(curvature, AwkwardPotential({4}, Activation::kTanh), "m.safetensors"),
              ErrorNames(kInvalid, {"c.safetensors", "m.safetensors", "--mode=curvature"}));
  curvature.columns.back().end = potential.shape.num_parameters() + 1;
  EXPECT_THAT(CheckCurvatureOf(curvature, potential, "m.safetensors"),
              ErrorNames(kInvalid, {"c.safetensors", "columns", "m.safetensors"}));
}

TEST(CurvatureFileTest, RefusesDamage) {
  Curvature whole = Example();
  const auto refused = [&whole](const char* name, const Tensor& tensor) {
    EXPECT_TRUE(WriteCurvature(Path(), whole).ok());
    const TensorFile file = *ReadTensorFile(Path());
    NamedTensors tensors = file.tensors;
    tensors.Set(name, tensor);
    const std::string damaged = ::testing::TempDir() + "/damaged.safetensors";
    EXPECT_TRUE(WriteTensorFile(damaged, file.metadata, tensors).ok());
    return ReadCurvature(damaged).status();
  };
  const auto doubles = [](std::vector<double> values) { return Tensor::Of(values); };
  EXPECT_THAT(refused("factor", doubles({1, 2})), ErrorNames(kInvalid, {"damaged", "factor", "3 parameters"}));
  EXPECT_THAT(refused("factor", doubles({1, 2, 0, 4, 5, 6})), ErrorNames(kInvalid, {"factor", "diagonal number 1"}));
  EXPECT_THAT(refused("factor", doubles({1, std::numeric_limits<double>::infinity(), 1, 4, 5, 6})),
              ErrorNames(kInvalid, {"factor", "finite"}));
  EXPECT_THAT(refused("scale", doubles({1, 0})), ErrorNames(kInvalid, {"scale", "above 0"}));
  EXPECT_THAT(refused("energy_curvature", doubles({-1})), ErrorNames(kInvalid, {"energy_curvature", "-1"}));
  EXPECT_THAT(refused("columns", Tensor::Of<int64_t>({2, 4, 3, 4}, {2, 2})),
              ErrorNames(kInvalid, {"columns", "row 1"}));
  EXPECT_THAT(refused("columns", Tensor::Of<int64_t>({}, {0, 2})), ErrorNames(kInvalid, {"factor"}));
  whole = RowsExample();
  EXPECT_THAT(refused("inverse_root", doubles({1, 2})), ErrorNames(kInvalid, {"damaged", "inverse_root"}));
  EXPECT_THAT(refused("inverse_root", doubles({1, 2, 0})), ErrorNames(kInvalid, {"inverse_root", "above 0"}));
  const auto rows = [](std::vector<double> values) {
    return Tensor::Of<double>(values, {static_cast<int64_t>(values.size()) / 3, 3});
  };
  EXPECT_THAT(refused("rows", rows({1, std::nan(""), 3})), ErrorNames(kInvalid, {"rows", "finite"}));
  EXPECT_THAT(refused("rows", rows({1, 1e200, 3})), ErrorNames(kInvalid, {"rows", "--damping"}));
  EXPECT_THAT(refused("rows", rows({1, 2, 3, 4, 5, 6, 7, 8, 9})), ErrorNames(kInvalid, {"3 rows", "3 parameters"}));
  EXPECT_THAT(ReadCurvature(::testing::TempDir() + "/none").status(),
              ErrorNames(absl::StatusCode::kNotFound, {"none"}));
}

}  // namespace
}  // namespace rutile
