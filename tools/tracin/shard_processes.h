// --num_processes: this program started N times on this machine, each process for one shard of the training examples.
//
// Each writes its shard to a part of its own, which the process that started them merges: beside --output, where
// --resume finds what a stopped run has done, or in a folder that is gone afterward.

#ifndef RUTILE_TOOLS_TRACIN_SHARD_PROCESSES_H_
#define RUTILE_TOOLS_TRACIN_SHARD_PROCESSES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// What a process that was started for a shard is told, by its environment.
struct ShardProcess {
  int shard = 1;     // of num_shards, from 1 on
  std::string part;  // file to write
};

// Nothing: this process was not started by ShardParts::Run of the process above it.
std::optional<ShardProcess> ThisShardProcess();

// The files of the shards, and who makes them.
class ShardParts {
 public:
  // stem: parts are STEM.part-I-of-N.safetensors and stay until Remove; "": in a folder of their own.
  static absl::StatusOr<ShardParts> Create(const std::string& stem, int num_shards);
  ShardParts(ShardParts&& other) noexcept;
  ShardParts& operator=(ShardParts&&) = delete;
  ~ShardParts();

  const std::vector<std::string>& paths() const { return paths_; }
  // Of parts, or of what is to become one, how many are there.
  int NumFound() const;

  // Runs `run`'s command once for each shard. 0, or the exit status of the first process that failed, which has said
  // why; the others are stopped then.
  absl::StatusOr<int> Run(const ToolRun& run) const;

  // All parts, and what is left of those that were stopped.
  void Remove() const;

 private:
  ShardParts() = default;

  std::string stem_;
  std::string folder_;  // "": beside the output
  std::vector<std::string> paths_;
};

// INVALID_ARGUMENT for the first of `inputs` that is a pipe, and so can be read only once.
absl::Status CheckReadableByAll(const std::vector<std::string>& inputs);

// "x.partial.safetensors" of "x.safetensors": where a computation of x that was stopped goes on.
std::string PartialPath(const std::string& path);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_SHARD_PROCESSES_H_
