// How features and energies are brought to the scale of 1 before networks see them.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_SCALING_H_
#define RUTILE_LIB_POTENTIAL_MODEL_SCALING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// Whose statistics standardize an atom's features: those of all atoms (aenet-python), or of its own species (aenet).
enum class FeatureScalingKind { kNone, kPooled, kPerSpecies };

// x = (G - mean) * scale, by central species.
struct FeatureScaling {
  int num_species = 0;
  int num_features = 0;
  std::vector<double> mean;   // [species, F]
  std::vector<double> scale;  // [species, F]: 1 / deviation, 0 for a feature that is constant in training

  // Features of atoms of `species`, by its number, that got scale 0, in rising order: all, where there is no such atom.
  std::vector<int> ConstantFeatures(int species) const;

  // The largest |mean| * scale: standardizing magnifies errors relative to a feature's size by so much. 1e5 where a
  // feature varies by 1e-5 of its size, of which fp32 keeps two digits.
  double Magnification() const;
};

// What training has seen of each feature before scaling: an atom outside it is extrapolated. A species without atoms
// has min = +infinity and max = -infinity, so that any atom of it is outside.
struct FeatureRange {
  std::vector<double> min, max;  // [species, F]
};

// One pass over the training atoms; sums in fp64 in the order of atoms, shifted by the first atom's features so that no
// digits cancel. The deviation is sqrt(variance + 1e-12), as aenet-python has it. A feature whose deviation is below
// 1e-8 of its size, or of a species without atoms, gets scale 0: a derivative of 1e8 helps nobody. Of features that
// were added in single precision that holds below 1e-6 of their size or of 1: what varies there is their rounding.
//
// weight >= 0, of the atom's structure: 2 is the atom added twice, to rounding, 0 exactly the atom not added.
class FeatureStatistics {
 public:
  FeatureStatistics(FeatureScalingKind kind, int num_species, int num_features);
  void Add(uint8_t species, absl::Span<const float> features, double weight = 1) {
    AddAtom(species, features.data(), weight);
  }
  void Add(uint8_t species, absl::Span<const double> features, double weight = 1) {
    AddAtom(species, features.data(), weight);
  }
  FeatureScaling Result() const;
  // By species, whatever the kind of scaling. NaN features are not seen.
  const FeatureRange& Range() const { return range_; }

 private:
  template <typename T>
  void AddAtom(uint8_t species, const T* features, double weight);
  bool IsConstant(double deviation, double mean) const;

  const FeatureScalingKind kind_;
  const int num_species_;
  const int num_features_;
  bool is_single_ = false;                    // some features were added in single precision
  std::vector<double> weight_;                // by group: species, or one; the sum, that is the number of atoms
  std::vector<double> shift_, sum_, square_;  // [groups, F]
  FeatureRange range_;
};

// E = sum of network outputs / scale + shift * atoms (+ atomic energies), eV.
struct EnergyScaling {
  double scale = 1;  // 1/eV
  double shift = 0;  // eV per atom
};

// Whether energies per atom, less the atomic energies, differ by rounding alone: by no more than 1e-9 of `size`, the
// largest |energy per atom| with them, and of 1 eV. Fitted atomic energies leave that where there are no more
// structures than independent compositions, or multiples of one structure.
bool EnergiesAreEqual(absl::Span<const double> energies_per_atom, double size);

// aenet's: training energies per atom, less the atomic energies, map to [-1, 1]. EnergiesAreEqual: scale 1, shift 0
// moved to that value.
EnergyScaling ScaleEnergies(absl::Span<const double> energies_per_atom, double size);

// [species] eV: least squares of energies per atom on the species' shares of the atoms, so that a large cell does not
// outweigh the small ones. energies: [structures] eV, total. counts: [structures, species]. weights: [structures] >= 0,
// or empty: all weigh 1; 2 is the structure twice, to rounding, 0 exactly no structure. Of the many solutions when
// compositions do not tell species apart (every structure is a multiple of TiO2), the one of least norm: predictions
// are the same.
std::vector<double> FitAtomicEnergies(absl::Span<const double> energies, absl::Span<const int64_t> counts,
                                      int num_species, absl::Span<const double> weights = {});

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_SCALING_H_
