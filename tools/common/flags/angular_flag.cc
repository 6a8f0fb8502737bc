#include "tools/common/flags/angular_flag.h"

#include <gflags/gflags.h>

#include <string>

#include "tools/common/run/flag_domain.h"

DEFINE_string(angular, "moments",
              "How to evaluate the angular sum: moments or triplets. The results agree to rounding, but the cost of "
              "triplets grows with the square of the number of neighbors.");
DEFINE_validator(angular,
                 [](const char*, const std::string& value) { return rutile::kAngularMethodNames.Parse(value).ok(); });

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

}  // namespace

AngularMethod AngularMethodFromFlags() {
  return kAngularMethodNames.Parse(FLAGS_angular).value();  // which the validator has seen
}

}  // namespace rutile
