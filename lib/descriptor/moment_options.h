// The parameters of the moment descriptor: sums over neighbors of radial functions times spherical harmonics.
//
//   B_{i,(s n l m)} = sum over neighbors j of species s of phi_n(r_ij) Y_lm(u_ij)
//
// These are the densities that ACE and MACE are made of: R. Drautz, Phys. Rev. B 99, 014104 (2019), eq. 11; I. Batatia
// et al., NeurIPS 2022 (arXiv:2206.07697), eq. 8, with radial functions in a fixed basis.
// Unlike other descriptors' features, they turn with the structure: only products of them are invariants.

#ifndef RUTILE_LIB_DESCRIPTOR_MOMENT_OPTIONS_H_
#define RUTILE_LIB_DESCRIPTOR_MOMENT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"

namespace rutile {

// The radial functions before the envelope; moment_basis.h has the formulas.
enum class RadialBasis { kBessel, kChebyshev };

inline constexpr absl::string_view kRadialBasisWords[] = {"bessel", "chebyshev"};
inline constexpr EnumNames<RadialBasis> kRadialBasisNames("no radial basis", kRadialBasisWords);

struct MomentOptions {
  std::vector<uint8_t> species;  // atomic numbers; the order is that of the features
  double cutoff = 5.0;           // Angstrom
  int num_radial = 8;            // N, the number of radial functions
  int max_l = 3;                 // L, the highest degree of the harmonics
  RadialBasis basis = RadialBasis::kBessel;
  int envelope = 5;          // p: the envelope differs from 1 by O(r^p) near 0
  double min_cutoff = 0.55;  // Angstrom: neighbors at or below it are ignored

  // Returns (L + 1)^2, the number of harmonics.
  int num_harmonics() const { return (max_l + 1) * (max_l + 1); }
  // Returns S N (L + 1)^2. Feature (s N + n) (L + 1)^2 + l l + l + m is that of species s, radial function n (from 0)
  // and harmonic l m.
  int num_features() const { return static_cast<int>(species.size()) * num_radial * num_harmonics(); }
  // INVALID_ARGUMENT naming the flag: no species or a repeated one, a cutoff outside (0, 20], radial functions outside
  // 1..32, a degree outside 0..4, no such basis, an envelope outside 1..16, min_cutoff below 0 or not below the cutoff.
  absl::Status Validate() const;

  // Returns the form stored in file metadata under the key "descriptor", one line of JSON
  //   {"type":"moments","species":["Ti","O"],"cutoff":5.0,"radial_functions":8,"max_l":3,"radial_basis":"bessel",...}
  // Equal options give equal strings.
  std::string ToJson() const;
  static absl::StatusOr<MomentOptions> FromJson(absl::string_view json);
};

bool operator==(const MomentOptions& a, const MomentOptions& b);
inline bool operator!=(const MomentOptions& a, const MomentOptions& b) { return !(a == b); }

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MOMENT_OPTIONS_H_
