// Selects the parameters that count, and the parts that get scores of their own.

#ifndef RUTILE_TOOLS_TRACIN_PARAMETER_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_PARAMETER_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"
#include "tools/tracin/influence_domain.h"

namespace rutile {

// A selection of parameters.
struct ParameterChoice {
  std::vector<ProductPart> parts;
  bool part_scores = false;  // --blocks
  std::string description;   // "" for all; else the flags that selected, for the record in the output
};

// Reads --params, --exclude_params, --use_last_layers_only, --num_last_layers, --last_layer_names and --blocks.
// INVALID_ARGUMENT: a glob that matches no parameter (lists those that exist), nothing left, or a model without layers.
absl::StatusOr<ParameterChoice> ParametersFromFlags(absl::Span<const ParameterSlice> slices,
                                                    const std::function<ParameterPlace(const ParameterSlice&)>& place);

// INVALID_ARGUMENT for the first of these flags that is given.
absl::Status RefuseParameterFlags(absl::string_view why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_PARAMETER_FLAGS_H_
