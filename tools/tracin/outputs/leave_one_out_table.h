// The table of --mode=leave-one-out.

#ifndef RUTILE_TOOLS_TRACIN_OUTPUTS_LEAVE_ONE_OUT_TABLE_H_
#define RUTILE_TOOLS_TRACIN_OUTPUTS_LEAVE_ONE_OUT_TABLE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/curvature/leave_one_out.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"

namespace rutile {

// Returns the parameters in these parts, ascending.
std::vector<ColumnRange> ColumnsOf(absl::Span<const ParameterSlice> slices, absl::Span<const ProductPart> parts);

// Returns TSV with a row for each structure, and prints the root mean squares over all structures as messages. Columns
// of what no structure has are left out.
std::string LeaveOneOutToTsv(const LeaveOneOut& found, const AtomicData& train);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_OUTPUTS_LEAVE_ONE_OUT_TABLE_H_
