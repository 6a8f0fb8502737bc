// Standard deviations of the C interface, against their definition by differences of its own energies and forces.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/md/md_testing.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// A curvature whose factor is twice the identity, with some columns left out.
std::string WriteTestCurvature(const Potential& potential, const std::string& name) {
  const int64_t parameters = potential.shape.num_parameters();
  Curvature curvature;
  curvature.model = ModelDigest(potential);
  curvature.columns = {{0, 3}, {5, parameters}};
  const int64_t size = curvature.size();
  std::vector<double> factor(size * size, 0.0);
  for (int64_t c = 0; c < size; ++c) factor[c * size + c] = 2;
  curvature.inverse = InverseOfFactor(std::move(factor));
  curvature.energy_scale = 1.5;
  curvature.force_scale = 0.7;
  curvature.energy_curvature = 1;
  const std::string path = testing::TempDir() + "/" + name;
  EXPECT_EQ(WriteCurvature(path, curvature), absl::OkStatus());
  return path;
}

struct Opened {
  rutile_model* model = nullptr;
  rutile_context* context = nullptr;
  int code = -1;
  char error[600] = "";
  ~Opened() {
    rutile_context_destroy(context);
    rutile_close(model);
  }
};

std::unique_ptr<Opened> Open(const std::vector<std::string>& paths, const std::string& curvature, int precision = 0) {
  auto opened = std::make_unique<Opened>();
  std::vector<const char*> names;
  for (const std::string& path : paths) names.push_back(path.c_str());
  rutile_options options = {};
  options.struct_size = sizeof(options);
  options.precision = precision;
  options.curvature = curvature.empty() ? nullptr : curvature.c_str();
  opened->code = rutile_open(names.data(), static_cast<int>(names.size()), &options, &opened->model, opened->error,
                             sizeof(opened->error));
  if (opened->code != RUTILE_OK) return opened;
  EXPECT_EQ(rutile_context_create(opened->model, &opened->context), RUTILE_OK);
  return opened;
}

struct Deviations {
  int code = -1;
  double energy = -1;
  std::vector<double> atom_energy, force;
};

Deviations Compute(const Opened& opened, const Structure& structure) {
  const auto atoms = static_cast<int>(structure.element.size());
  Deviations found;
  found.atom_energy.assign(atoms, -1);
  found.force.assign(3 * atoms, -1);
  std::vector<int> species;
  for (const uint8_t element : structure.element) {
    species.push_back(rutile_species_index(opened.model, std::string(ElementSymbol(element)).c_str()));
  }
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.energy_deviation = &found.energy;
  outputs.atom_energy_deviation = found.atom_energy.data();
  outputs.force_deviation = found.force.data();
  const int pbc[3] = {structure.pbc[0], structure.pbc[1], structure.pbc[2]};
  found.code = rutile_compute_cell(opened.context, atoms, species.data(), structure.position.data(),
                                   structure.cell.data(), pbc, &outputs);
  return found;
}

TEST(DeviationsTest, AreTheirDefinition) {
  const GoldenCase golden = ReadGoldenCase(GoldenCaseNames()[0]);
  const Potential potential = GoldenPotential(golden);
  const std::string path = WriteTestPotential(potential, "model.safetensors");
  const auto opened = Open({path}, WriteTestCurvature(potential, "curvature.safetensors"));
  ASSERT_EQ(opened->code, RUTILE_OK) << opened->error;
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rutile_get_info(opened->model, &info), RUTILE_OK);
  EXPECT_EQ(info.has_deviations, 1);
  const Deviations found = Compute(*opened, golden.structure);
  ASSERT_EQ(found.code, RUTILE_OK) << rutile_last_error(opened->context);

  const size_t atoms = golden.structure.element.size();
  double energy = 0;
  std::vector<double> atom_energy(atoms), force(3 * atoms);
  const std::vector<double> start = potential.parameters.ToDoubles();
  constexpr double kStep = 2e-6;
  for (size_t p = 0; p < start.size(); ++p) {
    if (p == 3 || p == 4) continue;
    TestResult at[2];
    for (const int side : {0, 1}) {
      std::vector<double> moved = start;
      moved[p] += side == 0 ? kStep : -kStep;
      Potential other = potential;
      other.parameters = Tensor::Of(moved);
      at[side] = ComputeCell(TestModel({other}), golden.structure);
    }
    const auto square = [&](double plus, double minus) { return std::pow((plus - minus) / (2 * kStep), 2); };
    energy += square(at[0].energy, at[1].energy);
    for (size_t i = 0; i < atoms; ++i) atom_energy[i] += square(at[0].atom_energy[i], at[1].atom_energy[i]);
    for (size_t c = 0; c < 3 * atoms; ++c) force[c] += square(at[0].forces[c], at[1].forces[c]);
  }
  const auto expected = [](double scale, double sum) { return scale * std::sqrt(sum) / 2; };
  EXPECT_NEAR(found.energy, expected(1.5, energy), 1e-6 * found.energy);
  for (size_t i = 0; i < atoms; ++i) {
    EXPECT_NEAR(found.atom_energy[i], expected(1.5, atom_energy[i]), 1e-6 * found.energy) << i;
  }
  double largest = 0;
  for (const double each : found.force) largest = std::max(largest, each);
  EXPECT_GT(largest, 0);
  for (size_t c = 0; c < 3 * atoms; ++c) {
    EXPECT_NEAR(found.force[c], expected(0.7, force[c]), 1e-6 * largest) << c;
  }

  // Neither the precision of energies nor other members change them.
  const Deviations in32 = Compute(*Open({path}, testing::TempDir() + "/curvature.safetensors", 32), golden.structure);
  EXPECT_EQ(in32.force, found.force);
  Potential second = potential;
  second.parameters = Tensor::Of(std::vector<double>(start.size(), 0.1));
  const auto committee =
      Open({WriteTestPotential(second, "second.safetensors"), path}, testing::TempDir() + "/curvature.safetensors");
  ASSERT_EQ(committee->code, RUTILE_OK) << committee->error;
  EXPECT_EQ(Compute(*committee, golden.structure).atom_energy, found.atom_energy);
}

TEST(DeviationsTest, RefusesWhatHasNone) {
  const GoldenCase golden = ReadGoldenCase(GoldenCaseNames()[0]);
  const Potential potential = GoldenPotential(golden);
  std::vector<double> moved = potential.parameters.ToDoubles();  // copies of tensors share their memory
  moved[0] += 1;
  Potential other = potential;
  other.parameters = Tensor::Of(moved);
  const std::string path = WriteTestPotential(potential, "alone.safetensors");
  const std::string wrong = WriteTestCurvature(other, "other.safetensors");
  const auto of_other = Open({path}, wrong);
  EXPECT_EQ(of_other->code, RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(of_other->error, HasSubstr("other.safetensors"));
  const auto of_none = Open({path, path}, wrong);
  EXPECT_EQ(of_none->code, RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(of_none->error, HasSubstr("is of none of the 2 members"));
  EXPECT_EQ(Open({path}, "nowhere.safetensors")->code, RUTILE_NOT_FOUND);

  const auto without = Open({path}, "");
  const Deviations found = Compute(*without, golden.structure);
  EXPECT_EQ(found.code, RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rutile_last_error(without->context), HasSubstr("opened without its curvature"));
  EXPECT_EQ(found.energy, -1);

  const auto with = Open({path}, WriteTestCurvature(potential, "own.safetensors"));
  double energy = -1;
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  outputs.energy_deviation = &energy;
  const int species = 0;
  const double position[3] = {0, 0, 0};
  const auto nothing = [](void*, int, int* count, const int**) { return *count = 0; };
  EXPECT_EQ(rutile_compute_list(with->context, 1, &species, position, 1, nullptr, nothing, nullptr, -1, &outputs),
            RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rutile_last_error(with->context), HasSubstr("do not add up"));
}

}  // namespace
}  // namespace rutile
