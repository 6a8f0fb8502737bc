#include "lib/evaluation/predictions_file.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

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
  for (const char* name :
       {"predicted_force", "reference_force", "predicted_stress", "energy_spread", "force_spread", "atoms_outside"}) {
    EXPECT_FALSE(file.tensors.Has(name)) << name;
  }
}

TEST(PredictionsFileTest, ForcesStressAndSpread) {
  StructurePrediction p = Example("b", 1, -1, -2);
  p.predicted_force = {1, 2, 3};
  p.reference_force = {4, 5, 6};
  p.predicted_stress = std::array<double, 9>{1, 2, 3, 2, 4, 5, 3, 5, 6};
  p.energy_spread = 0.5;
  p.force_spread = {0.25};
  p.atoms_outside = 1;
  // The first has no forces at all.
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

}  // namespace
}  // namespace rutile
