#include "lib/distributed/rank_settings.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

using Variable = std::function<const char*(const char* name)>;

// Names of a launcher's environment variables.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_size;
  const char* node;     // if local_size is a list over machines: this machine's index in it
  const char* started;  // set only in processes that the launcher started
  const char* local_rank;
};
constexpr Names kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", nullptr, "RANK", "LOCAL_RANK"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr,
     "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
    // A job script also has rank 0 and the job's number of tasks, but no SLURM_STEP_NODELIST.
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_STEP_NODELIST",
     "SLURM_LOCALID"},
};

absl::StatusOr<int> Number(const Variable& variable, const char* name, int low, int high) {
  const char* const text = variable(name);
  if (text == nullptr) return absl::InvalidArgumentError(absl::StrCat("the environment lacks ", name));
  int value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= low && value <= high) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("the environment has ", name, "=", text, ", expected a number from ", low, " to ", high));
}

absl::StatusOr<int> LocalSize(const Names& names, const Variable& variable, int size) {
  const char* const text = variable(names.local_size);
  if (text == nullptr) return 1;
  if (names.node == nullptr) return Number(variable, names.local_size, 1, size);
  ASSIGN_OR_RETURN(const int node, Number(variable, names.node, 0, size - 1));
  const std::optional<int> tasks = SlurmTasksOnNode(text, node);
  if (tasks.has_value() && *tasks >= 1 && *tasks <= size) return *tasks;
  return absl::InvalidArgumentError(absl::StrCat("the environment has ", names.local_size, "=", text,
                                                 ", expected numbers from 1 to ", size, " as in 2(x3),1, one for node ",
                                                 node));
}

absl::StatusOr<RankSettings> Read(const Names& names, const Variable& variable) {
  constexpr int kMostProcesses = 1 << 20;
  RankSettings settings;
  settings.launcher = names.launcher;
  ASSIGN_OR_RETURN(settings.size, Number(variable, names.size, 1, kMostProcesses));
  ASSIGN_OR_RETURN(settings.rank, Number(variable, names.rank, 0, settings.size - 1));
  ASSIGN_OR_RETURN(settings.local_size, LocalSize(names, variable, settings.size));
  settings.local_rank = settings.rank % settings.local_size;
  if (variable(names.local_rank) != nullptr) {
    ASSIGN_OR_RETURN(settings.local_rank, Number(variable, names.local_rank, 0, settings.size - 1));
  }
  if (const char* const address = variable("MASTER_ADDR"); address != nullptr) {
    settings.master_address = address;
  } else if (const char* const hosts = variable("SLURM_STEP_NODELIST"); hosts != nullptr) {
    settings.master_address = FirstSlurmHost(hosts);
  } else if (settings.size > settings.local_size) {
    return absl::InvalidArgumentError(absl::StrCat(names.launcher, " started ", settings.size, " processes, ",
                                                   settings.local_size,
                                                   " of them here: set MASTER_ADDR to the name of rank 0's machine"));
  }
  if (variable("MASTER_PORT") != nullptr) {
    ASSIGN_OR_RETURN(settings.master_port, Number(variable, "MASTER_PORT", 1, 65535));
  }
  if (const char* const file = variable("RUTILE_STORE"); file != nullptr && settings.size == settings.local_size) {
    settings.store_file = file;
  }
  // torchrun itself may listen at MASTER_PORT with the protocol of its own version, so use a neighboring port.
  const char* const agent = variable("TORCHELASTIC_USE_AGENT_STORE");
  if (agent != nullptr && absl::string_view(agent) == "True") {
    settings.master_port += settings.master_port < 65535 ? 1 : -1;
  }
  return settings;
}

}  // namespace

absl::StatusOr<std::optional<RankSettings>> RankFromEnvironment(const Variable& variable) {
  for (const Names& names : kLaunchers) {
    if (variable(names.rank) == nullptr || variable(names.size) == nullptr) continue;
    if (variable(names.started) == nullptr) continue;
    ASSIGN_OR_RETURN(const RankSettings settings, Read(names, variable));
    if (settings.size == 1) return std::nullopt;
    return settings;
  }
  return std::nullopt;
}

std::string FirstSlurmHost(absl::string_view list) {
  const size_t bracket = list.find('[');
  const size_t comma = list.find(',');
  if (bracket == absl::string_view::npos || comma < bracket) return std::string(list.substr(0, comma));
  const size_t end = list.find_first_of("-,]", bracket);
  return absl::StrCat(list.substr(0, bracket), list.substr(bracket + 1, end - bracket - 1));
}

std::optional<int> SlurmTasksOnNode(absl::string_view list, int node) {
  for (absl::string_view part : absl::StrSplit(list, ',')) {
    int nodes = 1, tasks = 0;
    const size_t times = part.find("(x");
    if (times != absl::string_view::npos) {
      absl::string_view count = part.substr(times + 2);
      if (!absl::ConsumeSuffix(&count, ")") || !absl::SimpleAtoi(count, &nodes)) return std::nullopt;
      part = part.substr(0, times);
    }
    if (!absl::SimpleAtoi(part, &tasks)) return std::nullopt;
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return std::nullopt;
}

}  // namespace rutile
