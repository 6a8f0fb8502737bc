// Makes structures with their pairs, for tests of DescriptorDerivatives.

#ifndef RUTILE_LIB_DESCRIPTOR_DERIVATIVE_TESTING_H_
#define RUTILE_LIB_DESCRIPTOR_DERIVATIVE_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure.h"

namespace rutile {

// A structure that owns what a StructureGeometry points to.
class SampleGeometry {
 public:
  // Finds pairs within the cutoff and stores them as in a file that holds other structures before this one, so that
  // neither atom numbers nor offsets start at 0.
  SampleGeometry(const Structure& structure, std::vector<uint8_t> species, double cutoff);
  SampleGeometry(const SampleGeometry&) = delete;

  StructureGeometry Get() const;
  // Returns the geometry with triplets of all pairs within the angular cutoff, as TripletView has them.
  StructureGeometry GetWithTriplets(double ang_cutoff, double min_cutoff);
  const Structure& structure() const { return structure_; }
  const std::vector<uint8_t>& species() const { return species_; }
  int64_t size() const { return structure_.size(); }

 private:
  Structure structure_;
  std::vector<uint8_t> species_;
  NeighborList neighbors_;
  std::vector<int64_t> offset_;
  std::vector<int32_t> j_;
  std::vector<int16_t> shift_;
  std::vector<int64_t> triplet_offset_;
  std::vector<uint16_t> triplet_a_, triplet_b_;
};

// A structure with options that have as many species as it has.
struct DerivativeCase {
  std::string name;
  Structure structure;
  std::vector<uint8_t> species;
  ChebyshevOptions options;
};

// Returns a structure with atoms at random in a skew periodic cell (without a cell if edge is 0), no two nearer than 1
// Angstrom.
Structure RandomStructure(int num_atoms, double edge, uint64_t seed);

// Returns awkward cases: one atom alone, one in a crystal, no neighbors, collinear atoms, a cell thinner than the
// cutoff, 1 to 5 species, every order up to 8 and some above.
std::vector<DerivativeCase> DerivativeCases();

// Returns `count` random numbers in [-1, 1).
std::vector<double> RandomVector(int64_t count, uint64_t seed);

// Features and both products of one geometry. The derivatives by the strain are empty without a strain, those of atoms
// also with listed triplets.
template <typename T>
struct Products {
  std::vector<T> features, force, tangents;
  std::vector<double> strain_gradient, atom_strain_gradient;
};

// Expects features and products to be the same when only the first atoms are centers, and to agree with those of all
// atoms whose slopes are 0 behind these.
template <typename T>
void ExpectSameOfCenters(const DescriptorDerivatives<T>& derivatives, const StructureGeometry& geometry);

// Computes all products; sampled and strain may be empty. Expects VjpByAtom to have the bits of Vjp.
template <typename T>
Products<T> ComputeProducts(const DescriptorDerivatives<T>& derivatives, const StructureGeometry& geometry,
                            const std::vector<double>& slopes, const std::vector<double>& direction,
                            const std::vector<double>& strain, const std::vector<uint8_t>& sampled = {});

// Expects each of the results to agree to `tolerance` times its largest value, or times 1 if that is larger.
template <typename T>
void ExpectEqual(const Products<T>& found, const Products<double>& expected, double tolerance);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DERIVATIVE_TESTING_H_
