#include "lib/potential/gpu/descriptor_host_tables.h"

#include <cstddef>
#include <vector>

#include "lib/base/logging.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"

namespace rutile {

HostDescriptorTables MakeHostDescriptorTables(const ChebyshevOptions& options) {
  CHECK(options.Validate().ok()) << options.Validate();
  CHECK_LE(options.nearer.size() + 1, size_t{kMaxAngularSets});
  HostDescriptorTables host;
  for (size_t s = 0; s <= options.nearer.size(); ++s) {
    const ChebyshevOptions part = s == 0 ? options.Outermost() : options.Nearer(s - 1);
    const ChebyshevTables<double> tables(part, AngularMethod::kMoments);
    host.sets.push_back(
        {part.ang_order, part.ang_cutoff, tables.ang_square, tables.weight, tables.legendre, tables.recurrence});
    if (s > 0) continue;
    host.rad_order = part.rad_order;
    host.rad_cutoff = part.rad_cutoff;
    host.min_square = tables.min_square;
    host.rad_square = tables.rad_square;
    host.spins = tables.spins;
  }
  return host;
}

}  // namespace rutile
