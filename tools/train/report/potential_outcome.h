// Prints facts about a potential's run, and writes files beside its models.

#ifndef RUTILE_TOOLS_TRAIN_REPORT_POTENTIAL_OUTCOME_H_
#define RUTILE_TOOLS_TRAIN_REPORT_POTENTIAL_OUTCOME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/options/split.h"
#include "tools/train/make_task.h"

namespace rutile {

// Prints sizes, atomic energies and ignored features on stderr. `split`: UsedSplit, here and below.
void PrintFacts(const AtomicData& data, const TrainingTask& task, const LossOptions& loss, const Split& split);

// Writes train_frames.txt, validation_frames.txt and test_frames.txt, lists of lib/potential/data/structure_list.h.
absl::Status WriteFrames(absl::string_view directory, const AtomicData& data, const Split& split);

// Writes energies-SET.tsv and forces-SET.tsv of the best model in `directory`, as --save_energies and --save_forces
// request.
absl::Status SavePredictions(const std::string& directory, const AtomicData& data, const Split& split, int num_threads);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_REPORT_POTENTIAL_OUTCOME_H_
