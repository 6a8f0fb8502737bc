// The descriptor's flags: one set, shared by every tool that needs them.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_DESCRIPTOR_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_DESCRIPTOR_FLAGS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"
#include "lib/descriptor/descriptor_options.h"

namespace rutile {

// The names that --potential takes.
enum class PotentialKind { kAuto, kChebyshev, kManyBody };
inline constexpr absl::string_view kPotentialWords[] = {"auto", "chebyshev", "many-body"};
inline constexpr EnumNames<PotentialKind> kPotentialNames("no potential is called", kPotentialWords);

PotentialKind PotentialFromFlag();

// True if a flag of Chebyshev features alone is given: --rad_cutoff and so on, or --fingerprints.
bool ChebyshevFlagsGiven();

// True if a flag of the moments of many-body potentials alone is given: --cutoff, --max_l and so on.
bool MomentFlagsGiven();

// Whether any of --species, --rad_order and so on, or --fingerprints, is given.
bool DescriptorFlagsGiven();

// Which angular parts there are where no flag says so: two, or the one that aenet has.
enum class DescriptorDefaults { kTwoParts, kAenet };

// From --species, --rad_order and so on, or from --fingerprints; both at once is an error, and so is neither.
absl::StatusOr<DescriptorOptions> DescriptorOptionsFromFlags(
    DescriptorDefaults defaults = DescriptorDefaults::kTwoParts);

// The moments of --potential=many-body, whatever --potential says: from --species, --cutoff and so on. INVALID_ARGUMENT
// without --species, and beside a flag of Chebyshev features.
absl::StatusOr<DescriptorOptions> ManyBodyOptionsFromFlags();

// What the file at `path` recorded, unless a flag that is given contradicts it: INVALID_ARGUMENT naming both.
absl::StatusOr<DescriptorOptions> DescriptorOptionsFromFlags(const DescriptorOptions& recorded, absl::string_view path);

// Returns the value of each flag that describes the descriptor, but of --species and --min_cutoff.
std::map<std::string, std::string> DescriptorFlagValues(const DescriptorOptions& descriptor);

// --ang_cutoff where there is no descriptor, in Angstrom: INVALID_ARGUMENT unless it is one number.
absl::StatusOr<double> AngularCutoffFromFlag();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_DESCRIPTOR_FLAGS_H_
