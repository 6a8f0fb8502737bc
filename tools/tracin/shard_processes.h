// Runs this program in several processes on this machine (--num_processes), each for one shard of the training
// examples.
//
// Each process writes its shard to a part file, and the process that started them merges the parts. Parts lie beside
// --output, where --resume finds them after an interruption, or else in a temporary directory.

#ifndef RUTILE_TOOLS_TRACIN_SHARD_PROCESSES_H_
#define RUTILE_TOOLS_TRACIN_SHARD_PROCESSES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// The assignment of a process that was started for a shard, passed in its environment.
struct ShardProcess {
  int shard = 1;     // of num_shards, from 1
  std::string part;  // file to write
};

// Returns nullopt unless ShardParts::Run of the parent process started this process.
std::optional<ShardProcess> ThisShardProcess();

// The part files of the shards, and the processes that make them.
class ShardParts {
 public:
  // stem: parts are STEM.part-I-of-N.safetensors and stay until Remove; "": they lie in a temporary directory.
  static absl::StatusOr<ShardParts> Create(const std::string& stem, int num_shards);
  ShardParts(ShardParts&& other) noexcept;
  ShardParts& operator=(ShardParts&&) = delete;
  ~ShardParts();

  const std::vector<std::string>& paths() const { return paths_; }
  // Returns how many parts exist, complete or partial.
  int NumFound() const;

  // Runs the command of `run` once for each shard. Returns 0, or the exit status of the first process that failed,
  // which has printed its error; the others are then stopped.
  absl::StatusOr<int> Run(const ToolRun& run) const;

  // Removes all parts and partial files.
  void Remove() const;

 private:
  ShardParts() = default;

  std::string stem_;
  std::string folder_;  // "": parts lie beside the output
  std::vector<std::string> paths_;
};

// INVALID_ARGUMENT for the first of `inputs` that is a pipe, and so can be read only once.
absl::Status CheckReadableByAll(const std::vector<std::string>& inputs);

// Returns "x.partial.safetensors" for "x.safetensors": the file in which a stopped computation of x can be resumed.
std::string PartialPath(const std::string& path);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_SHARD_PROCESSES_H_
