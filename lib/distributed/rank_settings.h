// Determines the rank of this process from the environment of torchrun, Slurm or Open MPI.

#ifndef RUTILE_LIB_DISTRIBUTED_RANK_SETTINGS_H_
#define RUTILE_LIB_DISTRIBUTED_RANK_SETTINGS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// The place of one process among all.
struct RankSettings {
  int rank = 0;
  int size = 1;
  int local_size = 1;                        // processes on this machine
  int local_rank = 0;                        // index on this machine, for choosing a GPU
  std::string master_address = "127.0.0.1";  // where rank 0 listens
  int master_port = 29500;
  std::string launcher;  // "torchrun", for messages
  // A file that all processes of this machine have open, through which they find each other instead of at the address;
  // "": none. RunLocalProcesses makes one, so that no process listens for others on the network.
  std::string store_file;
};

// Reads the environment of torchrun (RANK, WORLD_SIZE, LOCAL_WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_RANK, _SIZE,
// _LOCAL_SIZE) or Slurm (SLURM_PROCID, SLURM_NTASKS, SLURM_STEP_TASKS_PER_NODE at SLURM_NODEID, first name of
// SLURM_STEP_NODELIST), in this order; MASTER_ADDR and MASTER_PORT if set. nullopt if no launcher started this process
// with others, as in a Slurm job without srun. INVALID_ARGUMENT naming a variable that makes no sense or is missing
// beside the others. RUTILE_STORE is the store_file. variable: returns the value of a variable, or nullptr
// (std::getenv).
absl::StatusOr<std::optional<RankSettings>> RankFromEnvironment(
    const std::function<const char*(const char* name)>& variable);

// Returns the first name in Slurm's list of hosts: "node[03-07,9],gpu1" gives "node03".
std::string FirstSlurmHost(absl::string_view list);

// Returns the number of tasks on a node, from 0, in Slurm's list: "2(x3),1" has 1 on node 3. nullopt: no such node.
std::optional<int> SlurmTasksOnNode(absl::string_view list, int node);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_RANK_SETTINGS_H_
