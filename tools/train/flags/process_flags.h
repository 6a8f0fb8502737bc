// The flags that say how many processes train together, and how they meet.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_PROCESS_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_PROCESS_FLAGS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"
#include "lib/distributed/communicator.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// How several processes share the work. kAuto chooses by what is trained and how much would be exchanged.
enum class Strategy { kAuto, kSingle, kDdp, kTensorParallel };
inline constexpr absl::string_view kStrategyWords[] = {"auto", "single", "ddp", "tensor_parallel"};
inline constexpr EnumNames<Strategy> kStrategyNames("processes cannot share the work by", kStrategyWords);

// What --strategy says.
Strategy ChosenStrategy();

// With --num_processes=N, started by nobody who has told this process its rank: starts N processes with the same
// command, waits for them and exits with their status, without returning. Otherwise joins the others; nullptr: there
// are none. Processes other than rank 0 print nothing from then on but their errors. To be called before anything of
// LibTorch runs. INVALID_ARGUMENT naming flag or variable; the errors of JoinGloo.
absl::StatusOr<std::unique_ptr<Communicator>> CommunicatorFromFlags(const ToolRun& run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_PROCESS_FLAGS_H_
