// Options of embedding models as text by name: in model files, and in what a resumed run must agree with.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_TEXT_H_
#define RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_TEXT_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {

// "kge_model", "embedding_dim", "input_dropout", "kge_loss", "label_smoothing", "label_smoothing_form" (where there is
// smoothing); for ConvE also "conve_variant" and what is its own. Numbers have the fewest decimals that give them back.
// Without precision and seed.
std::map<std::string, std::string> DescribeKgeOptions(const KgeOptions& options);

// The reverse; other keys are ignored. precision, seed, and what is not described keep their defaults.
// INVALID_ARGUMENT: a key that is missing, text that is none of its values, or the errors of CheckKgeOptions.
absl::StatusOr<KgeOptions> ParseKgeOptions(const std::map<std::string, std::string>& text);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_TEXT_H_
