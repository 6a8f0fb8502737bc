// The parameters of aenet's Chebyshev descriptor, and what follows from them.

#ifndef RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_OPTIONS_H_
#define RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// How the angular sum is evaluated. Both give the same numbers to rounding.
enum class AngularMethod { kMoments, kTriplets };

// Angular features of neighbors within a cutoff.
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
  // The same sums again over nearer neighbors, so that shells are told apart by their angles, too; not in aenet. Their
  // features follow all others, set after set. Cutoffs decrease, from below ang_cutoff.
  std::vector<AngularSet> nearer;
  double min_cutoff = 0.55;  // Angstrom: neighbors at or below it do not count

  int num_features() const;
  // Without `nearer`, what aenet has: the first columns.
  ChebyshevOptions Outermost() const;
  // Set k of `nearer` as a descriptor of its own, whose radial features (the first of the one or two halves of its
  // columns each) are not wanted.
  ChebyshevOptions Nearer(size_t k) const;
  // Neighbors up to here are needed, Angstrom: the larger of the two.
  double cutoff() const { return rad_cutoff > ang_cutoff ? rad_cutoff : ang_cutoff; }
  // w_j of each species: ..., -2, -1, 0, 1, 2, ...; 0 is skipped for an even number. {1} for one species.
  std::vector<double> TypeSpins() const;
  // INVALID_ARGUMENT naming the flag: no species or one twice, an order outside 0..32, a cutoff outside (0, 20],
  // angular cutoffs that do not decrease, min_cutoff below 0 or not below all cutoffs.
  absl::Status Validate() const;

  // The form in file metadata, key "descriptor": one line of JSON
  //   {"type":"chebyshev","species":["Ti","O"],"rad_order":10,"rad_cutoff":6.0,...}
  // with "nearer":[{"ang_order":6,"ang_cutoff":3.5},...] last, only where there are such sets.
  // Equal options give equal strings.
  std::string ToJson() const;
  static absl::StatusOr<ChebyshevOptions> FromJson(absl::string_view json);

  // As flags are given: comma-separated, largest cutoff first.
  std::string AngularOrders() const;
  std::string AngularCutoffs() const;
};

bool operator==(const ChebyshevOptions& a, const ChebyshevOptions& b);
inline bool operator!=(const ChebyshevOptions& a, const ChebyshevOptions& b) { return !(a == b); }

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_OPTIONS_H_
