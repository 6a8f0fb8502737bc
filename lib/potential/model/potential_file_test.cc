#include "lib/potential/model/potential_file.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/network/network_init.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/testing/error_names.h"
#include "lib/trace/peak_rss.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }

Potential Example(DType dtype) {
  Potential p;
  p.descriptor.chebyshev().species = {22, 8};
  p.descriptor.chebyshev().rad_order = 2;
  p.descriptor.chebyshev().ang_order = 1;
  const int features = p.descriptor.num_features();
  p.shape = {2, features, {4, 3}, Activation::kMtanh};
  p.feature_scaling = {2, features, std::vector<double>(2 * features, 0.5), std::vector<double>(2 * features, 2.0)};
  p.feature_range.min.assign(2 * features, -1.5);
  p.feature_range.max.assign(2 * features, 3.5);
  p.feature_range.min[1] = std::numeric_limits<double>::infinity();  // as for a species without training atoms
  p.feature_range.max[1] = -p.feature_range.min[1];
  p.energy_scaling = {1.25, -8.5};
  p.atomic_energies = {-3, -2};
  const std::vector<double> values = InitialNetworkParameters(p.shape, 1);
  if (dtype == DType::kF64) {
    p.parameters = Tensor::Of(values);
  } else {
    p.parameters = Tensor::Of(std::vector<float>(values.begin(), values.end()));
  }
  p.metadata = {{"tool", "train"}, {"epoch", "12"}};
  return p;
}

TEST(PotentialFileTest, ComesBackAsWritten) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Potential written = Example(dtype);
    ASSERT_TRUE(WritePotential(Temp("p.safetensors"), written).ok());
    const absl::StatusOr<Potential> read = ReadPotential(Temp("p.safetensors"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->descriptor, written.descriptor);
    EXPECT_EQ(read->shape.hidden, written.shape.hidden);
    EXPECT_EQ(read->shape.activation, Activation::kMtanh);
    EXPECT_EQ(read->parameters.dtype(), dtype);
    EXPECT_EQ(read->parameters.ToDoubles(), written.parameters.ToDoubles());
    EXPECT_EQ(read->feature_scaling.scale, written.feature_scaling.scale);
    EXPECT_EQ(read->feature_range.min, written.feature_range.min);
    EXPECT_EQ(read->feature_range.max, written.feature_range.max);
    EXPECT_EQ(read->energy_scaling.shift, -8.5);
    EXPECT_EQ(read->atomic_energies, written.atomic_energies);
    EXPECT_EQ(read->metadata.at("epoch"), "12");
  }
}

TEST(PotentialFileTest, MayNotKnowTheRangeOfFeatures) {
  Potential written = Example(DType::kF32);
  written.feature_range = {};
  ASSERT_TRUE(WritePotential(Temp("p.safetensors"), written).ok());
  const absl::StatusOr<Potential> read = ReadPotential(Temp("p.safetensors"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->feature_range.min.empty());
}

// Programs that know no repulsion read kind potential/1 alone, and refuse a model that has one.
TEST(PotentialFileTest, RepulsionHasAKindOfItsOwn) {
  Potential written = Example(DType::kF32);
  ASSERT_TRUE(WritePotential(Temp("p.safetensors"), written).ok());
  EXPECT_EQ(ReadTensorFile(Temp("p.safetensors"))->metadata.at("kind"), "potential/1");
  EXPECT_TRUE(ReadPotential(Temp("p.safetensors"))->repulsion.empty());
  written.repulsion = {{0.5, 0.6, 0.6, 0.7}, {1.5, 1.6, 1.6, 1.7}};
  ASSERT_TRUE(WritePotential(Temp("p.safetensors"), written).ok());
  EXPECT_EQ(ReadTensorFile(Temp("p.safetensors"))->metadata.at("kind"), "potential/2");
  const absl::StatusOr<Potential> read = ReadPotential(Temp("p.safetensors"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->repulsion == written.repulsion);
  EXPECT_EQ(read->parameters.ToDoubles(), written.parameters.ToDoubles());
}

Potential WithVectors() {
  MomentOptions moments;
  moments.species = {22, 8};
  moments.num_radial = 2;
  moments.max_l = 1;
  Potential p = Example(DType::kF64);
  p.descriptor = moments;
  SetInputs(p.descriptor, /*channels=*/3, /*messages=*/4, /*vector_messages=*/2, &p.shape);
  const int features = p.shape.num_features;
  p.feature_scaling = {2, features, std::vector<double>(2 * features, 0.0), std::vector<double>(2 * features, 2.0)};
  p.feature_range = {};
  std::vector<double> values(p.shape.num_parameters());
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k);
  p.parameters = Tensor::Of(values);
  return p;
}

// Programs that know no vectors read kinds potential/1 and 2, and refuse a model that has them.
TEST(PotentialFileTest, VectorMessagesHaveAKindOfTheirOwn) {
  Potential written = WithVectors();
  for (const bool repels : {false, true}) {
    if (repels) written.repulsion = {{0.5, 0.6, 0.6, 0.7}, {1.5, 1.6, 1.6, 1.7}};
    ASSERT_TRUE(WritePotential(Temp("p.safetensors"), written).ok());
    const TensorFile file = *ReadTensorFile(Temp("p.safetensors"));
    EXPECT_EQ(file.metadata.at("kind"), "potential/3");
    EXPECT_EQ(file.metadata.at("layers"), "3,4,2");
    EXPECT_EQ(file.tensors.At("message.Ti.vector_weight").shape(), (std::vector<int64_t>{2, 3}));
    const absl::StatusOr<Potential> read = ReadPotential(Temp("p.safetensors"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->shape.moments == written.shape.moments);
    EXPECT_TRUE(read->repulsion == written.repulsion);
    EXPECT_EQ(read->parameters.ToDoubles(), written.parameters.ToDoubles());
  }
}

TEST(PotentialFileTest, VectorMessagesThatDoNotFitAreErrors) {
  Potential written = WithVectors();
  written.repulsion = {{0.5, 0.6, 0.6, 0.7}, {1.5, 1.6, 1.6, 1.7}};
  ASSERT_TRUE(WritePotential(Temp("p.safetensors"), written).ok());
  const TensorFile whole = *ReadTensorFile(Temp("p.safetensors"));
  const auto error = [&](const std::string& key, const std::string& value, absl::string_view without) {
    Metadata metadata = whole.metadata;
    metadata[key] = value;
    if (value.empty()) metadata.erase(key);
    NamedTensors tensors;
    for (const auto& [name, tensor] : whole.tensors) {
      if (name != without) tensors.Set(name, tensor);
    }
    EXPECT_TRUE(WriteTensorFile(Temp("broken.safetensors"), metadata, tensors).ok());
    return ReadPotential(Temp("broken.safetensors")).status();
  };
  for (const char* const layers : {"3,4", "3,4,0", "3,4,x", "3,4,2,1", "3,0,2", "0,4,2"}) {
    EXPECT_THAT(error("layers", layers, ""), ErrorNames({"broken.safetensors", layers, "64,16,16"})) << layers;
  }
  EXPECT_THAT(error("layers", "3,4,5", ""), ErrorNames({"broken.safetensors", "--vector_messages=5", "0 to 4"}));
  EXPECT_THAT(error("layers", "", ""), ErrorNames({"layers", "potential/3"}));
  EXPECT_THAT(error("kind", "potential/2", ""), ErrorNames({"3,4,2", "64,16"}));
  EXPECT_THAT(error("channels", "3", "message.O.vector_weight"), ErrorNames({"message.O.vector_weight"}));
  EXPECT_THAT(error("channels", "3", "repulsion_inner"), ErrorNames({"repulsion_inner", "both"}));
  const std::string chebyshev = Example(DType::kF64).descriptor.ToJson();
  EXPECT_THAT(error("descriptor", chebyshev, ""), ErrorNames({"potential/3", "chebyshev"}));
}

// Changes a file after it was written, tensor by tensor.
class BrokenPotentialTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WritePotential(Temp("whole.safetensors"), Example(DType::kF64)).ok());
    file_ = *ReadTensorFile(Temp("whole.safetensors"));
  }
  std::string Error() {
    Metadata metadata = file_.metadata;
    for (auto it = metadata.begin(); it != metadata.end();) {
      it = it->first.rfind("crc32c.", 0) == 0 ? metadata.erase(it) : std::next(it);
    }
    EXPECT_TRUE(WriteTensorFile(Temp("broken.safetensors"), metadata, file_.tensors).ok());
    const absl::StatusOr<Potential> read = ReadPotential(Temp("broken.safetensors"));
    EXPECT_FALSE(read.ok());
    return std::string(read.status().message());
  }
  TensorFile file_;
};

TEST_F(BrokenPotentialTest, LayerOfAnotherShape) {
  file_.tensors.Set("network.O.1.weight", Tensor::Zeros(DType::kF64, {3, 5}));
  EXPECT_THAT(Error(), ErrorNames({"\"network.O.1.weight\"", "3,5", "3,4", "F64"}));
}

TEST_F(BrokenPotentialTest, LayersOfTwoTypes) {
  file_.tensors.Set("network.O.1.bias", Tensor::Zeros(DType::kF32, {3}));
  EXPECT_THAT(Error(), HasSubstr("network.O.1.bias"));
}

TEST_F(BrokenPotentialTest, NotFinite) {
  file_.tensors.Set("network.Ti.2.bias", Tensor::Of(std::vector<double>{NAN}));
  EXPECT_THAT(Error(), HasSubstr("NaN"));
}

TEST_F(BrokenPotentialTest, AnyTensorThatIsNotFinite) {
  const NamedTensors whole = file_.tensors;
  for (const char* name : {"feature_mean", "feature_scale", "atomic_energy", "energy_scale", "energy_shift",
                           "network.Ti.0.weight", "network.O.2.weight", "network.O.0.bias"}) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      file_.tensors = whole;
      std::vector<double> values = whole.At(name).ToDoubles();
      values.back() = bad;
      file_.tensors.Set(name, Tensor::Of<double>(values, whole.At(name).shape()));
      EXPECT_THAT(Error(), ErrorNames({"broken.safetensors", absl::StrCat("\"", name, "\""), "finite"}));
    }
  }
}

// The sizes of a model of 90 GB in a small file: no memory may be taken before the tensors are compared with them.
TEST_F(BrokenPotentialTest, SizesOfAHugeModel) {
  file_.metadata["hidden"] = "4096,4096,4096,4096,4096,4096,4096,4096,4096,4096,4096,4096,4096,4096,4096,4096";
  Potential example = Example(DType::kF64);
  example.descriptor.chebyshev().species.clear();
  for (uint8_t element = 1; element <= 90; ++element) example.descriptor.chebyshev().species.push_back(element);
  file_.metadata["descriptor"] = example.descriptor.ToJson();
  const int64_t features = example.descriptor.num_features();
  for (const char* name : {"feature_mean", "feature_scale", "feature_min", "feature_max"}) {
    file_.tensors.Set(name, Tensor::Zeros(DType::kF64, {90, features}));
  }
  file_.tensors.Set("atomic_energy", Tensor::Zeros(DType::kF64, {90}));
  const int64_t before = PeakRssBytes();
  EXPECT_THAT(Error(), ErrorNames({"broken.safetensors", "\"network.H.0.weight\"", "4096"}));
  EXPECT_LT(PeakRssBytes() - before, int64_t{100} << 20);
}

TEST_F(BrokenPotentialTest, AnotherNumberOfLayers) {
  file_.metadata["hidden"] = "4,3,3";
  EXPECT_THAT(Error(), HasSubstr("network.Ti"));
}

TEST_F(BrokenPotentialTest, Metadata) {
  file_.metadata["hidden"] = "4,x";
  EXPECT_THAT(Error(), HasSubstr("\"4,x\""));
  file_.metadata["hidden"] = "4,3";
  file_.metadata["activation"] = "relu";
  EXPECT_THAT(Error(), HasSubstr("relu"));
}

TEST_F(BrokenPotentialTest, Scales) {
  file_.tensors.Set("energy_scale", Tensor::Scalar(0.0));
  EXPECT_THAT(Error(), ErrorNames({"energy_scale"}));
}

TEST_F(BrokenPotentialTest, Ranges) {
  const Tensor whole = file_.tensors.At("feature_max");
  file_.tensors.Set("feature_max", Tensor::Of<double>(std::vector<double>(whole.num_elements(), NAN), whole.shape()));
  EXPECT_THAT(Error(), ErrorNames({"\"feature_max\""}));
  NamedTensors without;
  for (const auto& [name, tensor] : file_.tensors) {
    if (name != "feature_max") without.Set(name, tensor);
  }
  file_.tensors = without;
  EXPECT_THAT(Error(), HasSubstr("expected both, or none"));
}

TEST_F(BrokenPotentialTest, Repulsion) {
  const Tensor inner = Tensor::Of<double>(std::vector<double>{0.5, 0.5, 0.5, 0.5}, {2, 2});
  const Tensor outer = Tensor::Of<double>(std::vector<double>{1, 1, 1, 1}, {2, 2});
  file_.tensors.Set("repulsion_inner", inner);
  file_.tensors.Set("repulsion_outer", outer);
  EXPECT_THAT(Error(), ErrorNames({"repulsion_inner", "potential/1", "potential/2"}));
  file_.metadata["kind"] = "potential/2";
  file_.tensors.Set("repulsion_inner", outer);
  EXPECT_THAT(Error(), ErrorNames({"broken.safetensors", "Ti-Ti", "from 1 to 1"}));
  file_.tensors.Set("repulsion_inner", Tensor::Of<double>(std::vector<double>{0.5, 0.5, 0.5}, {3, 1}));
  EXPECT_THAT(Error(), ErrorNames({"repulsion_inner"}));
  NamedTensors without;
  for (const auto& [name, tensor] : file_.tensors) {
    if (name != "repulsion_inner") without.Set(name, tensor);
  }
  file_.tensors = without;
  EXPECT_THAT(Error(), ErrorNames({"repulsion_inner"}));
}

TEST_F(BrokenPotentialTest, LaterVersion) {
  file_.metadata["kind"] = "potential/4";
  EXPECT_THAT(Error(), ErrorNames({"potential/4", "potential/3", "newer"}));
}

TEST_F(BrokenPotentialTest, AnotherKind) {
  file_.metadata["kind"] = "atomistic.features/1";
  EXPECT_THAT(Error(), ErrorNames({"atomistic.features", "1"}));
}

}  // namespace
}  // namespace rutile
