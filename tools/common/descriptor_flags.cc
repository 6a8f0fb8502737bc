#include "tools/common/descriptor_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/stp_reader.h"
#include "lib/structure/element.h"

DEFINE_string(species, "",
              "Elements, comma-separated, as in Ti,O. Their order fixes the typespins (..., -1, 1, ...) and so the "
              "features: keep it.");
DEFINE_int32(rad_order, 10, "Highest Chebyshev polynomial of the radial part, which has rad_order + 1 features.");
DEFINE_double(rad_cutoff, 6.0, "Radial cutoff in Angstrom. Pairs, time and memory grow with its cube.");
DEFINE_int32(ang_order, 3, "Highest Chebyshev polynomial of the angular part, which has ang_order + 1 features.");
DEFINE_double(ang_cutoff, 4.0, "Angular cutoff in Angstrom; may be above rad_cutoff.");
DEFINE_double(min_cutoff, 0.55, "Neighbours nearer than this, in Angstrom, do not count.");
DEFINE_string(fingerprints, "",
              "aenet .stp files, comma-separated, one for each species, instead of the flags above. They must agree in "
              "everything but their own species.");
DEFINE_string(
    angular, "moments",
    "moments or triplets: how the angular sum is evaluated. The same numbers to rounding; the cost of triplets "
    "grows with the square of the neighbours.");
DEFINE_validator(angular,
                 [](const char*, const std::string& value) { return value == "moments" || value == "triplets"; });

namespace rutile {
namespace {

bool GivenOnCommandLine(const char* name) { return !gflags::GetCommandLineFlagInfoOrDie(name).is_default; }

}  // namespace

absl::StatusOr<ChebyshevOptions> DescriptorOptionsFromFlags() {
  if (!FLAGS_fingerprints.empty()) {
    for (const char* name : {"species", "rad_order", "rad_cutoff", "ang_order", "ang_cutoff", "min_cutoff"}) {
      if (GivenOnCommandLine(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--fingerprints and --", name, " both describe the descriptor: give one of them"));
      }
    }
    return ReadStpFiles(std::vector<std::string>(absl::StrSplit(FLAGS_fingerprints, ',')));
  }
  if (FLAGS_species.empty()) {
    return absl::InvalidArgumentError(
        "needs --species: the elements in the order that fixes the descriptor's typespins, as in --species=Ti,O");
  }
  ChebyshevOptions options;
  for (const absl::string_view symbol : absl::StrSplit(FLAGS_species, ',')) {
    const uint8_t element = AtomicNumber(symbol);
    if (element == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--species=", FLAGS_species, ": \"", symbol, "\" is no element; expected symbols as in Ti,O"));
    }
    options.species.push_back(element);
  }
  options.rad_order = FLAGS_rad_order;
  options.rad_cutoff = FLAGS_rad_cutoff;
  options.ang_order = FLAGS_ang_order;
  options.ang_cutoff = FLAGS_ang_cutoff;
  options.min_cutoff = FLAGS_min_cutoff;
  RETURN_IF_ERROR(options.Validate());
  return options;
}

AngularMethod AngularMethodFromFlags() {
  return FLAGS_angular == "triplets" ? AngularMethod::kTriplets : AngularMethod::kMoments;
}

}  // namespace rutile
