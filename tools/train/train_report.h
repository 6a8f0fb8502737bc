// What train says of a run, and writes beside its models.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_REPORT_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/potential/atomic_data.h"
#include "lib/potential/task_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/run_directory.h"
#include "lib/train/split.h"
#include "lib/train/trainer.h"
#include "lib/train/trainer_options.h"
#include "tools/train/train_task.h"

namespace rutile {

// On stderr: sizes, atomic energies, features that are ignored.
void PrintFacts(const AtomicData& data, const TrainingTask& task, const Split& split);

// On stderr: why the run ended, how far it came and how fast, its best epoch, and the files to look at.
void PrintOutcome(const RunDirectory& directory, const TrainerOptions& options, const TrainResult& result,
                  absl::string_view loss_unit, double atoms_per_s, bool plotted);

// Writes train_frames.txt, validation_frames.txt, test_frames.txt.
absl::Status WriteFrames(absl::string_view directory, const Split& split);

// On stdout: a row for each of validation and test that is not empty, after `member` if that is not "". The header
// stands above the first row that the process prints.
absl::Status PrintErrors(const TrainingTask& task, const Split& split, const Tensor& parameters,
                         absl::string_view member);

// By --save_energies and --save_forces: writes energies-SET.tsv and forces-SET.tsv of the best model in `directory`.
absl::Status SavePredictions(const std::string& directory, const AtomicData& data, const Split& split, int num_threads);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_REPORT_H_
