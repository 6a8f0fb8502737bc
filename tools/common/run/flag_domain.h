// Flags that serve one kind of model alone, so that they can be refused for the other without a list of names.

#ifndef RUTILE_TOOLS_COMMON_RUN_FLAG_DOMAIN_H_
#define RUTILE_TOOLS_COMMON_RUN_FLAG_DOMAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

enum class FlagDomain { kPotentials, kEmbeddings };

// Says that all flags which the source `filename` defines are for `domain`. It stands beside the definitions:
//
//   const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);
//
// A flag that is added to the source is then refused for the other domain, too. Returns true. The name must live until
// the program ends.
bool FlagsAreFor(FlagDomain domain, const char* filename);

// INVALID_ARGUMENT for the first flag of `domain` that was given: "--hidden has no effect on triples: it is for
// potentials: leave it out". `why`: "on triples: it is for potentials".
absl::Status RefuseFlagsFor(FlagDomain domain, absl::string_view why);

// The names of the flags that the source `filename` defines, in alphabetical order.
std::vector<std::string> FlagsOfSource(const char* filename);

// INVALID_ARGUMENT for the first flag that the source `filename` defines and that was given. `why`: "on features".
absl::Status RefuseFlagsOfSource(const char* filename, absl::string_view why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_FLAG_DOMAIN_H_
