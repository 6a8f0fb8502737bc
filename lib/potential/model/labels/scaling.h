// Scales features and energies to the order of 1 before networks see them.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_LABELS_SCALING_H_
#define RUTILE_LIB_POTENTIAL_MODEL_LABELS_SCALING_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"

namespace rutile {

// The atoms whose statistics standardize an atom's features: all atoms (kPooled, as in aenet-python), or those of its
// own species (kPerSpecies, as in aenet).
enum class FeatureScalingKind { kNone, kPooled, kPerSpecies };

inline constexpr absl::string_view kFeatureScalingWords[] = {"none", "pooled", "species"};
inline constexpr EnumNames<FeatureScalingKind> kFeatureScalingNames("no scaling of features", kFeatureScalingWords);

// Standardizes features by x = (G - mean) * scale, with the mean and scale of the central atom's species.
struct FeatureScaling {
  int num_species = 0;
  int num_features = 0;
  std::vector<double> mean;   // [species, F]
  std::vector<double> scale;  // [species, F]: 1 / deviation, 0 for a feature that is constant in training

  // Returns the features with scale 0 for atoms of `species` (an index), in rising order. These are all features if
  // training had no atom of the species.
  std::vector<int> ConstantFeatures(int species) const;

  // Returns the largest |mean| * scale, the factor by which standardizing magnifies errors relative to a feature's
  // size. It is 1e5 if a feature varies by 1e-5 of its size, and fp32 then keeps two digits of it.
  double Magnification() const;
};

// The range of each feature in training, before scaling; an atom outside it is extrapolated. A species without atoms
// has min = +infinity and max = -infinity, so that any atom of it is outside.
struct FeatureRange {
  std::vector<double> min, max;  // [species, F]
};

// Computes FeatureScaling and FeatureRange in one pass over the training atoms. Sums are fp64, in the order of atoms,
// and shifted by the first atom's features so that no digits cancel. The deviation is sqrt(variance + 1e-12), as in
// aenet-python. Scale 0, instead of a derivative of 1e8, is given to features of a species without atoms and to
// features whose deviation is below 1e-8 of their size. If features were added in single precision, the limit is 1e-6
// of their size, or 1e-6 if they are below 1, because smaller variation is their rounding.
//
// weight >= 0 is that of the atom's structure: 2 counts as the atom added twice (to rounding), and 0 as exactly no
// atom.
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
  // Returns the range for each species, whatever the kind of scaling. NaN features are ignored.
  const FeatureRange& Range() const { return range_; }

 private:
  template <typename T>
  void AddAtom(uint8_t species, const T* features, double weight);
  bool IsConstant(double deviation, double mean) const;

  const FeatureScalingKind kind_;
  const int num_species_;
  const int num_features_;
  bool is_single_ = false;  // some features were added in single precision
  // [groups], one for each species or one for all: the sum of weights, which is the number of atoms
  std::vector<double> weight_;
  std::vector<double> shift_, sum_, square_;  // [groups, F]
  FeatureRange range_;
};

// Scales energies: E = sum of network outputs / scale + shift * atoms (+ atomic energies), eV.
struct EnergyScaling {
  double scale = 1;  // 1/eV
  double shift = 0;  // eV per atom
};

// True if energies per atom, less the atomic energies, differ by rounding alone: by at most 1e-9 of the larger of 1 eV
// and `size`, the largest |energy per atom| with atomic energies. This happens with fitted atomic energies when there
// are no more structures than independent compositions, or only multiples of one structure.
bool EnergiesAreEqual(absl::Span<const double> energies_per_atom, double size);

// Returns aenet's scaling, which maps the training energies per atom, less the atomic energies, to [-1, 1]. If
// EnergiesAreEqual, the scale is 1 and the shift maps that energy to 0.
EnergyScaling ScaleEnergies(absl::Span<const double> energies_per_atom, double size);

// Fits atomic energies, [species] eV, by least squares of energies per atom on the species' shares of the atoms, so
// that a large cell does not outweigh small ones. energies: [structures] eV, total. counts: [structures, species].
// weights: [structures] >= 0, or empty if all are 1; 2 counts as the structure twice (to rounding), and 0 as exactly no
// structure. If compositions do not tell species apart (every structure is a multiple of TiO2), the solution is that of
// least norm; predictions do not depend on this choice.
std::vector<double> FitAtomicEnergies(absl::Span<const double> energies, absl::Span<const int64_t> counts,
                                      int num_species, absl::Span<const double> weights = {});

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_LABELS_SCALING_H_
