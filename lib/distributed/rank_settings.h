// Which of several processes this one is, as torchrun, Slurm and Open MPI tell them.

#ifndef RUTILE_LIB_DISTRIBUTED_RANK_SETTINGS_H_
#define RUTILE_LIB_DISTRIBUTED_RANK_SETTINGS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// One process's place among all.
struct RankSettings {
  int rank = 0;
  int size = 1;
  int local_size = 1;                        // processes on this machine
  std::string master_address = "127.0.0.1";  // where rank 0 listens
  int master_port = 29500;
  std::string launcher;  // "torchrun", for messages
};

// From the environment: torchrun (RANK, WORLD_SIZE, LOCAL_WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_RANK, _SIZE,
// _LOCAL_SIZE), Slurm (SLURM_PROCID, SLURM_NTASKS, SLURM_NTASKS_PER_NODE, SLURM_STEP_NODELIST's first name), in this
// order; MASTER_ADDR and MASTER_PORT where given. nullopt: none has started this process with others. INVALID_ARGUMENT
// naming a variable that makes no sense, or is missing beside the others.
// variable: its value, or nullptr (std::getenv).
absl::StatusOr<std::optional<RankSettings>> RankFromEnvironment(
    const std::function<const char*(const char* name)>& variable);

// The first name in Slurm's list of hosts: "node[03-07,9],gpu1" gives "node03".
std::string FirstSlurmHost(absl::string_view list);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_RANK_SETTINGS_H_
