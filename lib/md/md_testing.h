// Calls the C interface from tests, with vectors.

#ifndef RUTILE_LIB_MD_MD_TESTING_H_
#define RUTILE_LIB_MD_MD_TESTING_H_

#include <array>
#include <string>
#include <vector>

#include "lib/md/rutile.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/structure.h"

namespace rutile {

// An open model with a context. CHECK-fails when either cannot be had.
class TestModel {
 public:
  // Writes the potentials to files of the test, and opens those.
  explicit TestModel(const std::vector<Potential>& potentials, int precision = 0);
  explicit TestModel(const std::vector<std::string>& paths);
  TestModel(const TestModel&) = delete;
  ~TestModel();

  rutile_context* context() const { return context_; }
  rutile_model* model() const { return model_; }
  int num_members() const;
  // Species of the atoms, found by symbols.
  std::vector<int> Species(const Structure& structure) const;

 private:
  void Open(const std::vector<std::string>& paths, int precision);
  rutile_model* model_ = nullptr;
  rutile_context* context_ = nullptr;
};

// All that the interface can compute, of N atoms and C centers.
struct TestResult {
  int code = -1;
  std::string error;
  double energy = 0, energy_spread = 0;
  std::vector<double> atom_energy;   // [C]
  std::vector<double> forces;        // [3N]
  std::vector<double> force_spread;  // [N]
  std::array<double, 9> virial = {};
  std::vector<double> atom_virial;                   // [9N]
  std::vector<double> member_energy, member_forces;  // [M], [M * 3N]
  std::vector<unsigned char> outside;                // [C]
};

// Writes a potential to a file of the test, and returns its path.
std::string WriteTestPotential(const Potential& potential, const std::string& name);

TestResult ComputeCell(const TestModel& model, const Structure& structure);
// Computes a cell whose atoms have these species, not those of their elements.
TestResult ComputeCell(const TestModel& model, const Structure& structure, const std::vector<int>& species);

// Atoms with all images that are near enough to be neighbors, and full lists, found by plain loops over all pairs. With
// two layers, images are those within two cutoffs, and all that are within one have lists.
struct TestGhosts {
  std::vector<int> species;                 // atoms of the structure first
  std::vector<double> position;             // [3N]
  std::vector<int> owner;                   // [N] the atom of which this is an image
  std::vector<std::vector<int>> neighbors;  // nearest last; those of images are empty with one layer
};
TestGhosts MakeGhosts(const Structure& structure, const std::vector<int>& species, double cutoff, int num_layers = 1);

// Sends what images have, forces or `columns` numbers each, to their owners.
std::vector<double> SentHome(const TestGhosts& ghosts, const double* values, size_t num_atoms, int columns = 3);

// Computes with atoms `centers` of the structure. mask, exchange: as in the interface.
TestResult ComputeList(const TestModel& model, const TestGhosts& ghosts, const std::vector<int>& centers, int mask = -1,
                       const rutile_exchange* exchange = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_MD_MD_TESTING_H_
