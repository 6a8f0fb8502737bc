// The parameters of aenet's Chebyshev descriptor, and quantities that follow from them.

#ifndef RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_OPTIONS_H_
#define RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"

namespace rutile {

// The algorithm of the angular sum: by moments (spherical harmonics) or by a loop over triplets. Both give the same
// numbers to rounding.
enum class AngularMethod { kMoments, kTriplets };

inline constexpr absl::string_view kAngularMethodWords[] = {"moments", "triplets"};
inline constexpr EnumNames<AngularMethod> kAngularMethodNames("no angular method", kAngularMethodWords);

// A set of angular features of the neighbors within a cutoff.
struct AngularSet {
  int order = 0;      // highest Chebyshev polynomial: order + 1 features
  double cutoff = 0;  // Angstrom
};

struct ChebyshevOptions {
  std::vector<uint8_t> species;  // atomic numbers; the order fixes the typespins, so it is part of the descriptor
  int rad_order = 10;            // highest Chebyshev polynomial: rad_order + 1 radial features
  double rad_cutoff = 6.0;       // Angstrom
  int ang_order = 3;
  double ang_cutoff = 4.0;  // Angstrom; may be above rad_cutoff (aenet itself does not allow it)
  // Additional sets of angular features over nearer neighbors, which tell the angles of different shells apart; aenet
  // does not have them. Their features follow all others, set after set. Cutoffs decrease and are all below ang_cutoff.
  std::vector<AngularSet> nearer;
  double min_cutoff = 0.55;  // Angstrom: neighbors at or below it are ignored

  int num_features() const;
  // Returns the options without `nearer`, which are those of aenet and describe the first columns.
  ChebyshevOptions Outermost() const;
  // Returns set k of `nearer` as a descriptor of its own. Its radial features (the first in each of the one or two
  // halves of its columns) are a by-product that callers drop.
  ChebyshevOptions Nearer(size_t k) const;
  // The radius in Angstrom within which neighbors are needed: the larger of the two cutoffs.
  double cutoff() const { return rad_cutoff > ang_cutoff ? rad_cutoff : ang_cutoff; }
  // Returns w_j of each species: ..., -2, -1, 0, 1, 2, ..., without 0 if the number of species is even; {1} for one
  // species.
  std::vector<double> TypeSpins() const;
  // INVALID_ARGUMENT naming the flag: no species or a repeated one, an order outside 0..32, a cutoff outside (0, 20],
  // angular cutoffs that do not decrease, min_cutoff below 0 or not below all cutoffs.
  absl::Status Validate() const;

  // Returns the form stored in file metadata under the key "descriptor", one line of JSON
  //   {"type":"chebyshev","species":["Ti","O"],"rad_order":10,"rad_cutoff":6.0,...}
  // with "nearer":[{"ang_order":6,"ang_cutoff":3.5},...] last, if there are such sets. Equal options give equal
  // strings.
  std::string ToJson() const;
  static absl::StatusOr<ChebyshevOptions> FromJson(absl::string_view json);

  // Return the values of the flags: comma-separated, largest cutoff first.
  std::string AngularOrders() const;
  std::string AngularCutoffs() const;
};

bool operator==(const ChebyshevOptions& a, const ChebyshevOptions& b);
inline bool operator!=(const ChebyshevOptions& a, const ChebyshevOptions& b) { return !(a == b); }

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_OPTIONS_H_
