// Options of embedding models as text by name, as model files store them and as a resumed run must match them.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_TEXT_H_
#define RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_TEXT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {

// Returns the options that the model has under the names of their rows (KgeSettings), which are those of the flags.
// Numbers have the fewest decimals that restore them exactly. Precision and seed are left out.
std::map<std::string, std::string> DescribeKgeOptions(const KgeOptions& options);

// Restores options from such a text; other keys are ignored. Precision, seed, and options that are not described keep
// their defaults. INVALID_ARGUMENT if a key is missing or has a value that is not possible, or for errors of
// CheckKgeOptions.
absl::StatusOr<KgeOptions> ParseKgeOptions(const std::map<std::string, std::string>& text);

// Returns the settings of such a text in the order of KgeSettings: those that it has, and of a model also the defaults
// of those that count for it and are described only where they are set. What the text of an older version lacks is left
// out, and so is what means nothing.
std::vector<std::pair<std::string, std::string>> KgeSettingsOf(const std::map<std::string, std::string>& text);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_OPTIONS_TEXT_H_
