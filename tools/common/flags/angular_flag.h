// --angular, the same in every tool that computes features.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_ANGULAR_FLAG_H_
#define RUTILE_TOOLS_COMMON_FLAGS_ANGULAR_FLAG_H_

#include "lib/descriptor/chebyshev_options.h"

namespace rutile {

AngularMethod AngularMethodFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_ANGULAR_FLAG_H_
