// Which terms of the loss have something to compare with in a set of structures.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_LABELS_COUNTED_LABELS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_LABELS_COUNTED_LABELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// Returns a sentence for each term that has a weight in the loss and no label in the set: no structure of a weight
// above 0 has it. set: "validation", for the sentence.
std::vector<std::string> TermsWithoutLabels(const AtomicData& data, const LossOptions& loss,
                                            absl::Span<const int64_t> structures, absl::string_view set);

// How many structures of a set have a label, whatever their weights.
struct LabelCount {
  std::string label;  // "energies", "forces" or "stresses"
  int64_t count = 0;
};

// Counts the labels that errors of a set compare with: energies, and forces and stresses if the loss has a weight for
// them.
std::vector<LabelCount> CountLabels(const AtomicData& data, const LossOptions& loss,
                                    absl::Span<const int64_t> structures);

// Returns a sentence for each of these labels that a part of the set has, as its errors are over that part alone.
// set: "validation", for the sentence.
std::vector<std::string> PartialLabels(const AtomicData& data, const LossOptions& loss,
                                       absl::Span<const int64_t> structures, absl::string_view set);

// Checks that the monitored measure ("val_loss", or "" for it; "val_force_rmse"...) is defined on the validation set,
// since a mean of nothing would make the first epoch the best. INVALID_ARGUMENT saying what the set lacks. Other names
// pass, and so does an empty set.
absl::Status CheckMonitored(const AtomicData& data, const LossOptions& loss, absl::Span<const int64_t> validation,
                            absl::string_view monitor);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_LABELS_COUNTED_LABELS_H_
