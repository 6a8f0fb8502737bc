// The setting "zbl" of training: which repulsion is subtracted from the labels and becomes a part of the potential.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_ZBL_OPTIONS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_ZBL_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/potential/model/pair_repulsion.h"

namespace rutile {

struct ZblOptions {
  enum class Kind {
    kNone,
    kAuto,  // outer: 0.8 of the sum of the covalent radii of both elements, which few bonds fall below; inner: half of
            // it
    kRadii  // the radii below for all pairs, as in LAMMPS
  };
  Kind kind = Kind::kNone;
  double inner = 0, outer = 0;  // Angstrom

  bool is_on() const { return kind != Kind::kNone; }
};

// "", "auto" or "0.7,1.4".
std::string ZblText(const ZblOptions& options);
// INVALID_ARGUMENT for another text than these, or radii without 0 < inner < outer.
absl::StatusOr<ZblOptions> ParseZbl(absl::string_view text);

// Returns the radii for the descriptor's species. INVALID_ARGUMENT, naming the flag, for an outer radius beyond the
// descriptor's cutoff.
absl::StatusOr<RepulsionRadii> RadiiOf(const ZblOptions& options, const DescriptorOptions& descriptor);

// Returns the options whose radii these are. INVALID_ARGUMENT if there are none.
absl::StatusOr<ZblOptions> ZblOfRadii(const RepulsionRadii& radii, const DescriptorOptions& descriptor);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_ZBL_OPTIONS_H_
