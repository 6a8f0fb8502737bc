// What config.json says of a run beside the trainer's options, and flags.txt, which starts the run again.

#ifndef RUTILE_TOOLS_TRAIN_CONFIG_RECORD_H_
#define RUTILE_TOOLS_TRAIN_CONFIG_RECORD_H_

#include <string>

#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/options/trainer_options.h"
#include "tools/common/run/flag_settings.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// What the trainer's flags mean in this run where they leave it open.
void ResolveTrainer(const TrainerOptions& options, DType precision, int num_threads, FlagSettings* settings);

// What the flags mean in the run of a potential where they leave it open, or where the inputs decide.
FlagSettings EffectiveSettings(const AtomicData& data, const AtomisticTaskOptions& task, const TrainerOptions& options);

// Sets options->config_json and options->flag_file of a run, or of a committee's member in `member_directory` ("": it
// is no committee), which has options->seed and is made again as a single run:
//   flags      every flag of the tool: {"value": in effect, "origin": "default" | "command line" | "flagfile PATH" |
//              "file" (recorded in the inputs) | "run" (decided here, as by --precision=auto)}
//   flagfile   the flags that were given, and the inputs, for --flagfile; but --resume, --override and --overwrite,
//   which
//              are about the directory. null when a name holds a line break (with a warning)
//   versions   rutile, libtorch, compiler, kernel
//   hardware   processor, instruction set, processors usable, memory; no names of machines or users
void RecordRun(const ToolRun& run, const FlagSettings& settings, const std::string& member_directory,
               TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_CONFIG_RECORD_H_
