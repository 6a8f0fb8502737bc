// What train says of any run: how it went, and the errors of its best model.

#ifndef RUTILE_TOOLS_TRAIN_OUTCOME_H_
#define RUTILE_TOOLS_TRAIN_OUTCOME_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {

// On stderr: why the run ended, how far it came and how fast, its best epoch, and the files to look at. cost_unit: of
// Task::ExampleCost, "atoms".
void PrintOutcome(const RunDirectory& directory, const TrainerOptions& options, const TrainResult& result,
                  absl::string_view loss_unit, absl::string_view cost_unit, double cost_per_s, bool plotted);

// On stdout: a row for each of validation and test that is not empty (with UsedSplit of overfit_batches, "train" for
// the validation set, which it is), after `member` if that is not "". The header stands above the first row that the
// process prints. example_unit: "structures". device: as EvaluateExamples has it.
absl::Status PrintErrors(Task& task, const Split& split, const Tensor& parameters, absl::string_view example_unit,
                         absl::string_view member, const std::string& device);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_OUTCOME_H_
