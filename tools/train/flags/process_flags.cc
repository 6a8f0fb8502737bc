#include "tools/train/flags/process_flags.h"

#include <gflags/gflags.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/gloo_communicator.h"
#include "lib/distributed/rank_settings.h"
#include "tools/common/flags/duration_flag.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/local_processes.h"

DEFINE_string(
    strategy, "auto",
    "How several processes share the work: auto, single, ddp or tensor_parallel. With ddp, each batch is dealt out "
    "among the processes that torchrun, Slurm, Open MPI or --num_processes started; with tensor_parallel, the "
    "entities, relations and channels of an embedding model are; with single, the process trains alone. The default, "
    "auto, takes tensor_parallel on triples if that exchanges fewer numbers, else ddp.");
DEFINE_validator(strategy,
                 [](const char*, const std::string& value) { return rutile::kStrategyNames.Parse(value).ok(); });
DEFINE_int32(
    num_processes, 1,
    "Number of processes to start on this machine, 1 to 1024. They train one model together, as --strategy "
    "says; a step equals that of one process to rounding, and the same number gives the same bits. A long run of "
    "ConvE with Adam ends as one with another seed does.");
DEFINE_validator(num_processes, [](const char*, int32_t value) { return value >= 1 && value <= 1024; });
DEFINE_string(dist_timeout, "30s",
              "How long processes wait for one that does not answer, as in 30s or 5m. After that time all of them end. "
              "It also limits the wait for all processes to start.");
DEFINE_string(dist_interface, "",
              "Network interface on which processes of several machines meet, as in eth0. If empty, it is that of the "
              "route to MASTER_ADDR, and on that machine itself that of the route to the others.");

DEFINE_bool(sync_batchnorm, false,
            "Let ConvE's batch norms see the batch of all processes, with ddp. The run then equals that of one "
            "process, to rounding. Otherwise each process normalizes its own share of the batch.");

namespace rutile {
namespace {

// What one says that fails before it has joined is said by now. Then the others have nothing to wait for.
constexpr absl::Duration kJoiningGrace = absl::Seconds(2);

absl::Status CheckSize(const std::optional<RankSettings>& settings) {
  const int size = settings.has_value() ? settings->size : 1;
  if (settings.has_value() && FLAGS_num_processes > 1 && FLAGS_num_processes != size) {
    return absl::InvalidArgumentError(absl::StrCat("--num_processes=", FLAGS_num_processes, ", but ",
                                                   settings->launcher, " has started ", size,
                                                   " processes: leave the flag out under a launcher"));
  }
  const bool together = ChosenStrategy() == Strategy::kDdp || ChosenStrategy() == Strategy::kTensorParallel;
  if (together && size == 1 && FLAGS_num_processes == 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--strategy=", FLAGS_strategy,
                     " needs several processes: give --num_processes, or start train by torchrun, srun or mpirun"));
  }
  if (ChosenStrategy() == Strategy::kSingle && FLAGS_num_processes > 1) {
    return absl::InvalidArgumentError(
        "--strategy=single is one process, and --num_processes asks for more: leave one out");
  }
  return absl::OkStatus();
}

}  // namespace

Strategy ChosenStrategy() { return *kStrategyNames.Parse(FLAGS_strategy); }

absl::StatusOr<std::unique_ptr<Communicator>> CommunicatorFromFlags(const ToolRun& run) {
  GlooOptions options;
  ASSIGN_OR_RETURN(options.timeout, ParseDurationFlag("dist_timeout", FLAGS_dist_timeout));
  options.interface = FLAGS_dist_interface;
  ASSIGN_OR_RETURN(const std::optional<RankSettings> settings, RankFromEnvironment(std::getenv));
  RETURN_IF_ERROR(CheckSize(settings));
  if (!settings.has_value() && FLAGS_num_processes > 1) {
    LocalProcessesOptions processes;
    processes.size = FLAGS_num_processes;
    processes.grace = options.timeout;
    processes.joining_grace = kJoiningGrace;
    ASSIGN_OR_RETURN(const int status, RunLocalProcesses(run.command, processes));
    ExitTool(run, status);
  }
  if (!settings.has_value() || ChosenStrategy() == Strategy::kSingle) {
    RETURN_IF_ERROR(
        RefuseFlags("where there is one process alone", {"dist_timeout", "dist_interface", "sync_batchnorm"}));
    return nullptr;
  }
  // A torchrun that is killed, or ends by a signal that it does not forward, leaves its processes behind. They then
  // write the checkpoint and end, as after TERM.
  if (settings->launcher == "torchrun" && std::getenv("TORCHELASTIC_RUN_ID") != nullptr) {
    const pid_t parent = ::getppid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) std::raise(SIGTERM);  // it went meanwhile
  }
  SetMessageRank(settings->rank);
  std::signal(SIGPIPE, SIG_IGN);  // what is sent to a process that has gone is an error, which says so
  int processors = 1;
  ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, JoinGloo(*settings, options, &processors));
  TakeProcessors(processors);
  ReportJoined();
  return communicator;
}

}  // namespace rutile
