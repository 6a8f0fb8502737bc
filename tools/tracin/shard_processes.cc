#include "tools/tracin/shard_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "lib/file/file.h"
#include "tools/common/run/local_processes.h"

namespace rutile {
namespace {

// Value "PID N STEM": the process that started this one, the number of shards, and the stem of their parts. It is valid
// only if PID is the parent's, because variables are inherited by further processes.
constexpr char kVariable[] = "RUTILE_TRACIN_SHARDS";
constexpr char kExtension[] = ".safetensors";

// Time for processes to save their results after another one has failed.
constexpr absl::Duration kGrace = absl::Seconds(30);

std::string PartPath(absl::string_view stem, int shard, int num_shards) {
  return absl::StrCat(stem, ".part-", shard, "-of-", num_shards, kExtension);
}

// Takes the next word of `text` as a number.
bool TakeNumber(absl::string_view* text, int* number) {
  const size_t space = text->find(' ');
  if (space == absl::string_view::npos || !absl::SimpleAtoi(text->substr(0, space), number)) return false;
  text->remove_prefix(space + 1);
  return true;
}

}  // namespace

std::string PartialPath(const std::string& path) {
  const size_t slash = path.rfind('/'), begin = slash == std::string::npos ? 0 : slash + 1, dot = path.rfind('.');
  const size_t end = dot == std::string::npos || dot <= begin ? path.size() : dot;
  return absl::StrCat(path.substr(0, end), ".partial", path.substr(end));
}

std::optional<ShardProcess> ThisShardProcess() {
  const char *const variable = std::getenv(kVariable), *const rank = std::getenv("RANK");
  if (variable == nullptr || rank == nullptr) return std::nullopt;
  absl::string_view text = variable;
  int parent = 0, num_shards = 0, own = 0;
  if (!TakeNumber(&text, &parent) || !TakeNumber(&text, &num_shards) || !absl::SimpleAtoi(rank, &own)) {
    return std::nullopt;
  }
  if (parent != ::getppid() || own < 0 || own >= num_shards) return std::nullopt;
  return ShardProcess{own + 1, PartPath(text, own + 1, num_shards)};
}

absl::StatusOr<ShardParts> ShardParts::Create(const std::string& stem, int num_shards) {
  ShardParts parts;
  parts.stem_ = std::string(absl::StripSuffix(stem, kExtension));
  if (stem.empty()) {
    const char* const folder = std::getenv("TMPDIR");
    std::string name = absl::StrCat(folder == nullptr || *folder == '\0' ? "/tmp" : folder, "/tracin-XXXXXX");
    if (::mkdtemp(name.data()) == nullptr) {
      return ErrnoStatus(errno, absl::StrCat(name, ": cannot make a folder for the parts of --num_processes"));
    }
    parts.folder_ = name;
    parts.stem_ = absl::StrCat(name, "/influence");
  }
  for (int shard = 1; shard <= num_shards; ++shard) {
    parts.paths_.push_back(PartPath(parts.stem_, shard, num_shards));
  }
  return parts;
}

ShardParts::ShardParts(ShardParts&& other) noexcept
    : stem_(std::move(other.stem_)),
      folder_(std::exchange(other.folder_, "")),
      paths_(std::exchange(other.paths_, {})) {}

ShardParts::~ShardParts() {
  if (folder_.empty()) return;
  Remove();
  ::rmdir(folder_.c_str());
}

int ShardParts::NumFound() const {
  int found = 0;
  for (const std::string& path : paths_) found += FileExists(path) || FileExists(PartialPath(path)) ? 1 : 0;
  return found;
}

absl::StatusOr<int> ShardParts::Run(const ToolRun& run) const {
  const int num_shards = static_cast<int>(paths_.size());
  ::setenv(kVariable, absl::StrCat(::getpid(), " ", num_shards, " ", stem_).c_str(), /*overwrite=*/1);
  LocalProcessesOptions options;
  options.size = num_shards;
  options.grace = kGrace;
  options.failure_signal = SIGTERM;
  return RunLocalProcesses(run.command, options);
}

void ShardParts::Remove() const {
  for (const std::string& path : paths_) {
    std::remove(path.c_str());
    std::remove(PartialPath(path).c_str());
  }
}

absl::Status CheckReadableByAll(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    struct stat status = {};
    if (input != "-" && (::stat(input.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode))) continue;
    return absl::InvalidArgumentError(absl::StrCat("--num_processes: ", input == "-" ? "standard input" : input,
                                                   " is a pipe, which only one of them could read: give a file"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
