#include "lib/md/md_testing.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/mace/mace_file.h"
#include "lib/structure/cell.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

// Makes room for everything that is asked for, and asks for it.
rutile_outputs AskForAll(const TestModel& model, size_t num_atoms, size_t num_centers, bool spread,
                         TestResult* result) {
  rutile_outputs outputs = {};
  outputs.struct_size = sizeof(outputs);
  result->atom_energy.resize(num_centers);
  result->outside.resize(num_centers);
  result->forces.resize(3 * num_atoms);
  result->member_energy.resize(model.num_members());
  result->member_forces.resize(model.num_members() * 3 * num_atoms);
  outputs.energy = &result->energy;
  outputs.atom_energy = result->atom_energy.data();
  outputs.forces = result->forces.data();
  outputs.virial = result->virial.data();
  result->atom_virial.resize(9 * num_atoms);
  outputs.atom_virial = result->atom_virial.data();
  outputs.member_energy = result->member_energy.data();
  outputs.member_forces = result->member_forces.data();
  outputs.outside = result->outside.data();
  if (!spread) return outputs;
  result->force_spread.resize(num_atoms);
  outputs.energy_spread = &result->energy_spread;
  outputs.force_spread = result->force_spread.data();
  return outputs;
}

int NeighborsOfGhosts(void* user, int atom, int* count, const int** neighbors) {
  const auto* const ghosts = static_cast<const TestGhosts*>(user);
  const std::vector<int>& list = ghosts->neighbors[atom];
  *count = static_cast<int>(list.size());
  *neighbors = list.data();
  return 0;
}

}  // namespace

std::string WriteTestPotential(const Potential& potential, const std::string& name) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name, ".safetensors");
  CHECK((potential.mace != nullptr ? WriteMace(path, *potential.mace) : WritePotential(path, potential)).ok());
  return path;
}

TestModel::TestModel(const std::vector<Potential>& potentials, int precision) {
  std::vector<std::string> paths;
  for (const Potential& potential : potentials) {
    paths.push_back(WriteTestPotential(potential, absl::StrCat("member-", paths.size())));
  }
  Open(paths, precision);
}

TestModel::TestModel(const std::vector<std::string>& paths) { Open(paths, 0); }

void TestModel::Open(const std::vector<std::string>& paths, int precision) {
  std::vector<const char*> names;
  for (const std::string& path : paths) names.push_back(path.c_str());
  const rutile_options options = {sizeof(rutile_options), precision, nullptr};
  char error[500];
  const int code = rutile_open(names.data(), static_cast<int>(names.size()), &options, &model_, error, sizeof(error));
  CHECK_EQ(code, RUTILE_OK) << error;
  CHECK_EQ(rutile_context_create(model_, &context_), RUTILE_OK);
}

TestModel::~TestModel() {
  rutile_context_destroy(context_);
  rutile_close(model_);
}

int TestModel::num_members() const {
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  CHECK_EQ(rutile_get_info(model_, &info), RUTILE_OK);
  return info.num_members;
}

std::vector<int> TestModel::Species(const Structure& structure) const {
  std::vector<int> species;
  for (const uint8_t element : structure.element) {
    species.push_back(rutile_species_index(model_, std::string(ElementSymbol(element)).c_str()));
  }
  return species;
}

TestResult ComputeCell(const TestModel& model, const Structure& structure) {
  return ComputeCell(model, structure, model.Species(structure));
}

TestResult ComputeCell(const TestModel& model, const Structure& structure, const std::vector<int>& species) {
  TestResult result;
  const rutile_outputs outputs = AskForAll(model, species.size(), species.size(), /*spread=*/true, &result);
  const int pbc[3] = {structure.pbc[0], structure.pbc[1], structure.pbc[2]};
  result.code = rutile_compute_cell(model.context(), static_cast<int>(species.size()), species.data(),
                                    structure.position.data(), structure.cell.data(), pbc, &outputs);
  result.error = rutile_last_error(model.context());
  return result;
}

std::vector<double> SentHome(const TestGhosts& ghosts, const double* values, size_t num_atoms, int columns) {
  std::vector<double> home(columns * num_atoms, 0.0);
  for (size_t i = 0; i < ghosts.owner.size(); ++i) {
    for (int a = 0; a < columns; ++a) home[columns * ghosts.owner[i] + a] += values[columns * i + a];
  }
  return home;
}

TestGhosts MakeGhosts(const Structure& structure, const std::vector<int>& species, double cutoff, int num_layers) {
  const double distance = num_layers * cutoff;
  TestGhosts ghosts = {species, structure.position, {}, {}};
  const int64_t n = structure.size();
  for (int64_t i = 0; i < n; ++i) ghosts.owner.push_back(static_cast<int>(i));
  const Matrix3 cell = CompleteCell(structure.cell, structure.pbc).value();
  // Atoms may lie outside the cell, so that images of more cells than the cutoff spans may be near.
  const Vector3 width = PlaneWidths(cell);
  double extent = distance;
  for (const double x : structure.position) extent = std::max(extent, distance + 2 * std::abs(x));
  int reach[3];
  for (int k = 0; k < 3; ++k) reach[k] = structure.pbc[k] ? static_cast<int>(std::ceil(extent / width[k])) : 0;
  for (int a = -reach[0]; a <= reach[0]; ++a) {
    for (int b = -reach[1]; b <= reach[1]; ++b) {
      for (int c = -reach[2]; c <= reach[2]; ++c) {
        if (a == 0 && b == 0 && c == 0) continue;
        for (int64_t i = 0; i < n; ++i) {
          double r[3];
          for (int k = 0; k < 3; ++k) {
            r[k] = structure.position[3 * i + k] + a * cell[k] + b * cell[3 + k] + c * cell[6 + k];
          }
          bool near = false;
          for (int64_t j = 0; j < n && !near; ++j) {
            const double* const rj = &structure.position[3 * j];
            near = std::hypot(r[0] - rj[0], r[1] - rj[1], r[2] - rj[2]) < 1.2 * distance;
          }
          if (!near) continue;
          ghosts.species.push_back(species[i]);
          ghosts.owner.push_back(static_cast<int>(i));
          ghosts.position.insert(ghosts.position.end(), r, r + 3);
        }
      }
    }
  }
  // Lists have a skin, as those of molecular dynamics do.
  const int64_t num_lists = num_layers == 1 ? n : static_cast<int64_t>(ghosts.species.size());
  for (int64_t i = 0; i < num_lists; ++i) {
    std::vector<std::pair<double, int>> found;
    for (int64_t j = 0; j < static_cast<int64_t>(ghosts.species.size()); ++j) {
      const double *const ri = &ghosts.position[3 * i], *const rj = &ghosts.position[3 * j];
      const double distance = std::hypot(rj[0] - ri[0], rj[1] - ri[1], rj[2] - ri[2]);
      if (i != j && distance < 1.1 * cutoff) found.emplace_back(-distance, static_cast<int>(j));
    }
    std::sort(found.begin(), found.end());
    ghosts.neighbors.emplace_back();
    for (const auto& [unused, j] : found) ghosts.neighbors.back().push_back(j);
  }
  ghosts.neighbors.resize(ghosts.species.size());
  return ghosts;
}

TestResult ComputeList(const TestModel& model, const TestGhosts& ghosts, const std::vector<int>& centers, int mask,
                       const rutile_exchange* exchange) {
  TestResult result;
  const rutile_outputs outputs = AskForAll(model, ghosts.species.size(), centers.size(), /*spread=*/false, &result);
  const int num_atoms = static_cast<int>(ghosts.species.size()), num_centers = static_cast<int>(centers.size());
  void* const user = const_cast<TestGhosts*>(&ghosts);
  if (exchange == nullptr) {
    result.code = rutile_compute_list(model.context(), num_atoms, ghosts.species.data(), ghosts.position.data(),
                                      num_centers, centers.data(), NeighborsOfGhosts, user, mask, &outputs);
  } else {
    result.code =
        rutile_compute_list_together(model.context(), num_atoms, ghosts.species.data(), ghosts.position.data(),
                                     num_centers, centers.data(), NeighborsOfGhosts, user, mask, exchange, &outputs);
  }
  result.error = rutile_last_error(model.context());
  return result;
}

}  // namespace rutile
