#include "lib/mace/mace_file.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/mace/mace_testing.h"
#include "lib/mace/radial_splines.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

const std::string& Path() {
  static const std::string& path = *new std::string(::testing::TempDir() + "/mace.safetensors");
  return path;
}

TensorFile Written(const MaceModel& model) {
  EXPECT_TRUE(WriteMace(Path(), model).ok());
  return ReadTensorFile(Path()).value();
}

absl::StatusOr<std::shared_ptr<const MaceModel>> DecodeWith(const std::string& name, const Tensor& tensor) {
  TensorFile file = Written(RandomMace({}, 1));
  file.tensors.Set(name, tensor);
  return DecodeMace(file);
}

TEST(MaceFileTest, ReadsWhatWasWritten) {
  for (const int num_layers : {1, 2}) {
    for (const bool residual : {false, true}) {
      const MaceModel model = RandomMace({{22, 8, 1}, 4.5, 6, 3, 5, num_layers, residual}, 2);
      const TensorFile file = Written(model);
      EXPECT_TRUE(IsMaceFile(file));
      const std::shared_ptr<const MaceModel> read = DecodeMace(file).value();
      EXPECT_EQ(read->neighborhood, model.neighborhood);
      EXPECT_EQ(read->channels, 5);
      EXPECT_EQ(read->atomic_energies, model.atomic_energies);
      EXPECT_EQ(read->frequency, model.frequency);
      EXPECT_EQ(read->scale, model.scale);
      EXPECT_EQ(read->shift, model.shift);
      ASSERT_EQ(read->layers.size(), num_layers);
      for (int t = 0; t < num_layers; ++t) {
        EXPECT_EQ(read->layers[t].up, model.layers[t].up);
        EXPECT_EQ(read->layers[t].radial, model.layers[t].radial);
        EXPECT_EQ(read->layers[t].mix, model.layers[t].mix);
        EXPECT_EQ(read->layers[t].product, model.layers[t].product);
        EXPECT_EQ(read->layers[t].linear, model.layers[t].linear);
        EXPECT_EQ(read->layers[t].skip, model.layers[t].skip);
        EXPECT_EQ(read->layers[t].readout, model.layers[t].readout);
        EXPECT_EQ(read->layers[t].readout_hidden, model.layers[t].readout_hidden);
        EXPECT_EQ(read->layers[t].readout_out, model.layers[t].readout_out);
      }
    }
  }
}

TEST(MaceFileTest, ErrorsNameFileTensorAndRule) {
  const auto refuses = [](const std::string& name, const Tensor& tensor, std::vector<std::string> facts) {
    facts.push_back(Path());
    facts.push_back(name);
    EXPECT_THAT(DecodeWith(name, tensor).status(), ErrorNames(absl::StatusCode::kInvalidArgument, facts));
  };
  const auto zeros = [](std::vector<int64_t> shape) { return Tensor::Zeros(DType::kF64, std::move(shape)); };
  refuses("layer1.radial.1", zeros({4, 6}), {"[4,6]", "[5,6]"});
  refuses("layer2.radial.2", zeros({6, 11}), {"11", "12"});
  refuses("layer2.up", zeros({2, 4}), {"[2,4]", "[4,4]"});
  refuses("layer1.product", zeros({2, 4, 10}), {"[2,4,10]", "[2,4,9]"});
  refuses("layer2.mix", zeros({2, 2, 4, 4}), {"[2,2,4,4]", "[2,3,4,4]"});
  refuses("layer2.skip", zeros({2, 4}), {"[2,4]", "[2,4,4]"});
  refuses("layer2.readout", zeros({4}), {"layer2.readout_hidden", "one of them"});
  refuses("layer1.linear", Tensor::Zeros(DType::kF32, {4, 4}), {"F32", "F64"});
  refuses("layer3.up", zeros({4, 4}), {"no place in a model of these layers"});
  refuses("frequency", zeros({3}), {"N = 3", "layer1.radial.0"});
  refuses("atomic_energy", Tensor::Of(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}), {"NaN"});
}

TEST(MaceFileTest, TheNeighborhoodMustBeOneThatCanBeComputed) {
  TensorFile file = Written(RandomMace({}, 1));
  MomentOptions other = RandomMace({}, 1).neighborhood;
  other.basis = RadialBasis::kChebyshev;
  file.metadata["descriptor"] = other.ToJson();
  EXPECT_THAT(DecodeMace(file).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {Path(), "Bessel"}));
  file.metadata["descriptor"] = "{}";
  EXPECT_THAT(DecodeMace(file).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {Path()}));
  file.metadata["kind"] = "mace/2";
  EXPECT_THAT(DecodeMace(file).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {Path(), "mace/2", "newer"}));
}

TEST(MaceFileTest, SplinesAreRecordedWithTheirError) {
  MaceModel model = RandomMace({}, 1);
  model.radial_splines = 60;
  TensorFile file = Written(model);
  EXPECT_EQ(DecodeMace(file).value()->radial_splines, 60);
  EXPECT_EQ(file.metadata.at("radial_splines"), "60");
  const SplineError error = MeasureSplines(model, 60);
  EXPECT_GT(error.value, 0);
  EXPECT_EQ(file.metadata.at("radial_spline_error"), absl::StrFormat("%.2g, %.2g", error.value, error.slope));
  // Metadata of the file that a model came from says nothing about the one that is written.
  model.radial_splines = 0;
  ASSERT_TRUE(WriteMace(Path(), model, file.metadata).ok());
  const TensorFile without = ReadTensorFile(Path()).value();
  EXPECT_EQ(without.metadata.count("radial_splines") + without.metadata.count("radial_spline_error"), 0);
  EXPECT_EQ(DecodeMace(without).value()->radial_splines, 0);
  for (const std::string text : {"1", "x", "10001", "-5", ""}) {
    file.metadata["radial_splines"] = text;
    EXPECT_THAT(DecodeMace(file).status(), ErrorNames(absl::StatusCode::kInvalidArgument,
                                                      {Path(), "radial_splines", "\"" + text + "\"", "2 to 10000"}));
  }
}

}  // namespace
}  // namespace rutile
