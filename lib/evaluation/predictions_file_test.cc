#include "lib/evaluation/predictions_file.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

StructurePrediction Example(const std::string& name, int64_t atoms, double reference, double predicted) {
  StructurePrediction p;
  p.name = name;
  p.config_type = "rutile";
  p.composition = "O2";
  p.num_atoms = atoms;
  p.reference_energy = reference;
  p.predicted_energy = predicted;
  p.element.assign(atoms, 8);
  p.atom_energy.assign(atoms, predicted / atoms);
  return p;
}

TensorFile WriteAndRead(const std::vector<StructurePrediction>& predictions) {
  const std::string path = ::testing::TempDir() + "/predictions.safetensors";
  EXPECT_TRUE(WritePredictions(path, predictions, {{"tool", "evaluate"}}).ok());
  const absl::StatusOr<TensorFile> file = ReadTensorFile(path);
  EXPECT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(CheckSchema(PredictionsSchema(), *file).ok()) << CheckSchema(PredictionsSchema(), *file).status();
  return *file;
}

TEST(PredictionsFileTest, EnergiesAlone) {
  const TensorFile file = WriteAndRead({Example("a#0", 6, -51.5, -51.25), Example("\xff", 2, kNaN, -9)});
  EXPECT_EQ(file.tensors.At("predicted_energy").values<double>()[0], -51.25);
  EXPECT_TRUE(std::isnan(file.tensors.At("reference_energy").values<double>()[1]));
  EXPECT_EQ(file.tensors.At("num_atoms").values<int64_t>()[1], 2);
  EXPECT_THAT(file.tensors.At("atom_offset").values<int64_t>(), ElementsAre(0, 6, 8));
  EXPECT_EQ(file.metadata.at("compositions"), "[\"O2\",\"O2\"]");
  for (const char* name : {"predicted_force", "reference_force", "predicted_stress", "energy_spread", "force_spread",
                           "atoms_outside", "energy_std", "atom_energy_std", "force_std"}) {
    EXPECT_FALSE(file.tensors.Has(name)) << name;
  }
}

TEST(PredictionsFileTest, IsolatedAtoms) {
  StructurePrediction atom = Example("atom", 1, -1, -2);
  EXPECT_FALSE(WriteAndRead({atom}).tensors.Has("isolated"));
  atom.isolated = true;
  const auto read = DecodePredictions(WriteAndRead({Example("a#0", 6, -51.5, -51.25), atom}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE((*read)[0].isolated);
  EXPECT_TRUE((*read)[1].isolated);
}

TEST(PredictionsFileTest, ForcesStressAndSpread) {
  StructurePrediction p = Example("b", 1, -1, -2);
  p.predicted_force = {1, 2, 3};
  p.reference_force = {4, 5, 6};
  p.predicted_stress = std::array<double, 9>{1, 2, 3, 2, 4, 5, 3, 5, 6};
  p.energy_spread = 0.5;
  p.force_spread = {0.25};
  p.atoms_outside = 1;
  // The first structure has no forces.
  StructurePrediction bare = Example("a", 2, -1, -2);
  bare.energy_spread = 0.25;
  bare.atoms_outside = 0;
  const TensorFile file = WriteAndRead({bare, p});
  EXPECT_THAT(file.tensors.At("predicted_force").shape(), ElementsAre(3, 3));
  EXPECT_TRUE(std::isnan(file.tensors.At("predicted_force").values<double>()[5]));
  EXPECT_THAT(file.tensors.At("predicted_force").values<double>().subspan(6), ElementsAre(1, 2, 3));
  EXPECT_THAT(file.tensors.At("reference_force").values<double>().subspan(6), ElementsAre(4, 5, 6));
  EXPECT_THAT(file.tensors.At("predicted_stress").shape(), ElementsAre(2, 3, 3));
  EXPECT_EQ(file.tensors.At("predicted_stress").values<double>()[17], 6);
  EXPECT_FALSE(file.tensors.Has("reference_stress"));
  EXPECT_THAT(file.tensors.At("energy_spread").values<double>(), ElementsAre(0.25, 0.5));
  EXPECT_EQ(file.tensors.At("force_spread").values<double>()[2], 0.25);
  EXPECT_THAT(file.tensors.At("atoms_outside").values<int64_t>(), ElementsAre(0, 1));
  EXPECT_THAT(file.tensors.At("element").values<uint8_t>(), ElementsAre(8, 8, 8));
}

void ExpectSame(const StructurePrediction& a, const StructurePrediction& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.config_type, b.config_type);
  EXPECT_EQ(a.composition, b.composition);
  EXPECT_EQ(a.num_atoms, b.num_atoms);
  EXPECT_TRUE(a.reference_energy == b.reference_energy ||
              (std::isnan(a.reference_energy) && std::isnan(b.reference_energy)));
  EXPECT_EQ(a.predicted_energy, b.predicted_energy);
  EXPECT_EQ(a.element, b.element);
  EXPECT_EQ(a.atom_energy, b.atom_energy);
  EXPECT_EQ(a.reference_force, b.reference_force);
  EXPECT_EQ(a.predicted_force, b.predicted_force);
  EXPECT_EQ(a.reference_stress, b.reference_stress);
  EXPECT_EQ(a.predicted_stress, b.predicted_stress);
  EXPECT_EQ(a.energy_spread, b.energy_spread);
  EXPECT_EQ(a.force_spread, b.force_spread);
  EXPECT_EQ(a.energy_std, b.energy_std);
  EXPECT_EQ(a.atom_energy_std, b.atom_energy_std);
  EXPECT_EQ(a.force_std, b.force_std);
  EXPECT_EQ(a.atoms_outside, b.atoms_outside);
}

TEST(PredictionsFileTest, ReadsBackToTheBit) {
  StructurePrediction p = Example("b", 2, 1.0 / 3, -2), q = Example("\xc3\xa5", 1, kNaN, 1e-300);
  p.element = {8, 22};
  p.predicted_force = {1, 2, 3, 0.1, 0.2, 0.3};
  p.reference_force = {4, 5, 6, 7, 8, 9};
  p.reference_stress = std::array<double, 9>{1, 2, 3, 2, 4, 5, 3, 5, 6};
  p.predicted_stress = std::array<double, 9>{1, 2, 3, 2, 4, 5, 3, 5, 7};
  p.energy_spread = 0.5;
  p.force_spread = {0.25, 0.125};
  p.energy_std = 0.75;
  p.atom_energy_std = {0.5, 0.1};
  p.force_std = {1, 2, 3, 0.3, 0.2, 0.1};
  p.atoms_outside = 1;
  q.energy_std = 0.375;
  q.predicted_force = {kNaN, kNaN, kNaN};  // of a model that diverged: it was predicted
  q.energy_spread = 0;
  q.force_spread = {0};
  q.atoms_outside = 0;
  auto found = DecodePredictions(WriteAndRead({p, q}));
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2u);
  ExpectSame((*found)[0], p);
  EXPECT_EQ((*found)[1].predicted_force.size(), 3u);
  q.predicted_force.clear();
  (*found)[1].predicted_force.clear();
  ExpectSame((*found)[1], q);
  const StructurePrediction bare = Example("a", 3, -1, -2);
  ExpectSame(DecodePredictions(WriteAndRead({bare})).value()[0], bare);
}

TEST(PredictionsFileTest, RefusesDamage) {
  const auto refused = [](const std::function<void(TensorFile*)>& damage) {
    TensorFile file = WriteAndRead({Example("a", 2, -1, -2), Example("b", 1, -1, -2)});
    damage(&file);
    const auto found = DecodePredictions(file);
    EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(found.status().message());
  };
  const auto offset = [&](std::vector<int64_t> values) {
    return refused([&](TensorFile* file) { file->tensors.Set("atom_offset", Tensor::Of(values)); });
  };
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(offset({0, 2, 4}), HasSubstr("structure 1 has 1 atoms, from 2 to 4"));
  EXPECT_THAT(offset({1, 3, 3}), HasSubstr("\"atom_offset\""));
  EXPECT_THAT(offset({0, 2, kMin}), HasSubstr("\"atom_offset\""));
  EXPECT_THAT(offset({-2, 0, 1}), HasSubstr("\"atom_offset\""));
  for (const int bad : {0, 119, 200, 255}) {
    EXPECT_THAT(
        refused([bad](TensorFile* file) {
          file->tensors.Set("element", Tensor::Of(std::vector<uint8_t>{8, 8, static_cast<uint8_t>(bad)}));
        }),
        ErrorNames({"predictions.safetensors", "\"element\"", "atom 2", absl::StrCat("element ", bad), "1 to 118"}));
  }
  EXPECT_THAT(refused([](TensorFile* file) { file->metadata["names"] = "[\"a\"]"; }),
              HasSubstr("\"names\" is not a JSON list of 2 strings"));
  EXPECT_THAT(refused([](TensorFile* file) { file->metadata["compositions"] = "[1, 2]"; }), HasSubstr("compositions"));
  EXPECT_THAT(refused([](TensorFile* file) { file->metadata["config_types"] = "{"; }), HasSubstr("config_types"));
  EXPECT_THAT(refused([](TensorFile* file) { file->metadata["kind"] = "potential/1"; }), HasSubstr("potential/1"));
}

}  // namespace
}  // namespace rutile
