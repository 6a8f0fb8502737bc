// What train says of a run, and writes beside its models.

#ifndef RUTILE_TOOLS_TRAIN_POTENTIAL_OUTCOME_H_
#define RUTILE_TOOLS_TRAIN_POTENTIAL_OUTCOME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/options/split.h"
#include "tools/train/make_task.h"

namespace rutile {

// `split`: UsedSplit, here and below. On stderr: sizes, atomic energies, features that are ignored.
void PrintFacts(const AtomicData& data, const TrainingTask& task, const Split& split);

// Writes train_frames.txt, validation_frames.txt, test_frames.txt.
absl::Status WriteFrames(absl::string_view directory, const Split& split);

// By --save_energies and --save_forces: writes energies-SET.tsv and forces-SET.tsv of the best model in `directory`.
absl::Status SavePredictions(const std::string& directory, const AtomicData& data, const Split& split, int num_threads);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_POTENTIAL_OUTCOME_H_
