// Prints the outcome of any run: how it went, and the errors of its best model.

#ifndef RUTILE_TOOLS_TRAIN_REPORT_OUTCOME_H_
#define RUTILE_TOOLS_TRAIN_REPORT_OUTCOME_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {

// Prints on stderr why the run ended, how far it came and how fast, its best epoch, and which files to look at.
// cost_unit: unit of Task::ExampleCost, like "atoms".
void PrintOutcome(const RunDirectory& directory, const TrainerOptions& options, const TrainResult& result,
                  absl::string_view loss_unit, absl::string_view cost_unit, double cost_per_s, bool plotted);

// Returns columns of a table of errors that count what the errors of these examples are over: {"forces", 3}. Each call
// returns the same columns.
using CountColumns = std::function<std::vector<std::pair<std::string, int64_t>>(absl::Span<const int64_t> examples)>;

// Prints on stdout one row of errors for each of validation and test that is not empty, preceded by `member` unless
// that is "". (With UsedSplit of overfit_batches, the validation set is the training set and called "train".) The first
// row that the process prints has a header above. example_unit: "structures". count_columns: columns at the end of a
// row; may be empty. device: as in EvaluateExamples.
absl::Status PrintErrors(Task& task, const Split& split, const Tensor& parameters, absl::string_view example_unit,
                         const CountColumns& count_columns, absl::string_view member, const std::string& device);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_REPORT_OUTCOME_H_
