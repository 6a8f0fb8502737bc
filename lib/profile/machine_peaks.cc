#include "lib/profile/machine_peaks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/machine/memory.h"
#include "lib/machine/parallel_for.h"
#include "lib/profile/fma_peak.h"

namespace rutile {
namespace {

// Version of the cached values: entries of another version are measured again.
constexpr int kVersion = 2;

constexpr std::pair<const char*, double MachinePeaks::*> kNames[] = {
    {"fma_fp32_one", &MachinePeaks::fma_fp32_one},
    {"fma_fp32_all", &MachinePeaks::fma_fp32_all},
    {"fma_fp64_one", &MachinePeaks::fma_fp64_one},
    {"fma_fp64_all", &MachinePeaks::fma_fp64_all},
    {"matmul_fp32", &MachinePeaks::matmul_fp32},
    {"matmul_bf16", &MachinePeaks::matmul_bf16},
    {"memory_read_one", &MachinePeaks::memory_read_one},
    {"memory_read_all", &MachinePeaks::memory_read_all},
    {"memory_copy_all", &MachinePeaks::memory_copy_all},
    {"disk_write", &MachinePeaks::disk_write},
    {"disk_read", &MachinePeaks::disk_read},
    {"seconds", &MachinePeaks::seconds},
    {"load", &MachinePeaks::load}};

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Runs work in all threads at once, in rounds. The best round counts, because others use the machine, too.
class Rounds {
 public:
  explicit Rounds(int num_threads) : num_threads_(num_threads), pool_(num_threads) {}

  int num_threads() const { return num_threads_; }

  // work(thread) does a few ms of work and returns its amount. Returns the rate per second of all threads together.
  double Best(double seconds, const std::function<double(int thread)>& work) {
    double best = 0;
    const double end = Now() + seconds;
    do {
      std::vector<double> done(num_threads_), begin(num_threads_), finish(num_threads_);
      std::atomic<int> arrived{0};
      pool_.For(num_threads_, 1, [&](int64_t thread, int64_t, int) {
        // Wait until all threads have arrived, so that none begins early or takes another thread's part.
        ++arrived;
        while (arrived < num_threads_) std::this_thread::yield();
        begin[thread] = Now();
        done[thread] = work(static_cast<int>(thread));
        finish[thread] = Now();
      });
      double all = 0;
      for (const double each : done) all += each;
      const double took =
          *std::max_element(finish.begin(), finish.end()) - *std::min_element(begin.begin(), begin.end());
      best = std::max(best, all / std::max(took, 1e-9));
    } while (Now() < end);
    return best;
  }

 private:
  const int num_threads_;
  ThreadPool pool_;
};

void MeasureArithmetic(double seconds, Rounds* one, Rounds* all, MachinePeaks* peaks) {
  constexpr int64_t kSteps = 1000000;  // some 4 ms
  const auto fp32 = [](int) { return RunFmaFloat(kSteps); };
  const auto fp64 = [](int) { return RunFmaDouble(kSteps); };
  peaks->fma_fp32_one = one->Best(seconds / 4, fp32);
  peaks->fma_fp64_one = one->Best(seconds / 4, fp64);
  peaks->fma_fp32_all = all->Best(seconds / 4, fp32);
  peaks->fma_fp64_all = all->Best(seconds / 4, fp64);
}

void MeasureMemory(double seconds, int64_t cache_bytes, Rounds* one, Rounds* all, MachinePeaks* peaks) {
  // Several times the size of caches, but a small part of memory.
  constexpr int64_t kLeast = int64_t{128} << 20, kMost = int64_t{1} << 30;
  const int64_t wanted = std::clamp(4 * cache_bytes, kLeast, kMost);
  const int64_t total = std::min(wanted, std::max<int64_t>(AvailableMemory() / 8, 1 << 20));
  const int threads = all->num_threads();
  const size_t each = std::max<size_t>(1, static_cast<size_t>(total) / (2 * threads) / 4096) * 4096;  // bytes
  std::vector<std::unique_ptr<uint64_t[]>> from(threads), to(threads);
  all->Best(0, [&](int thread) {  // each thread touches its own buffer first
    from[thread] = std::make_unique<uint64_t[]>(each / 8);
    to[thread] = std::make_unique<uint64_t[]>(each / 8);
    return 1.0;
  });
  std::atomic<uint64_t> sink{0};
  const auto read = [&](const uint64_t* data) {
    sink += ReadAll(data, each / 8);
    return static_cast<double>(each);
  };
  peaks->memory_read_one = one->Best(seconds / 3, [&, next = size_t{0}](int) mutable {
    // Use all buffers in turn, because a single one may fit into the cache.
    double bytes = 0;
    for (int k = 0; k < 2 * threads; ++k, ++next) {
      bytes += read((next % 2 == 0 ? from : to)[next / 2 % threads].get());
    }
    return bytes;
  });
  peaks->memory_read_all =
      all->Best(seconds / 3, [&](int thread) { return read(from[thread].get()) + read(to[thread].get()); });
  peaks->memory_copy_all = all->Best(seconds / 3, [&](int thread) {
    std::memcpy(to[thread].get(), from[thread].get(), each);
    return 2.0 * static_cast<double>(each);
  });
}

absl::Status MeasureDisk(double seconds, const std::string& directory, MachinePeaks* peaks) {
  constexpr int64_t kBytes = int64_t{64} << 20, kBlock = int64_t{1} << 20;
  std::string path = absl::StrCat(directory, "/rutile-peaks-XXXXXX");
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat(directory, ": cannot make a temporary file"));
  ::unlink(path.c_str());
  const auto close = absl::MakeCleanup([fd] { ::close(fd); });
  // Avoid zeros, which some file systems do not store.
  std::vector<uint64_t> block(kBlock / 8);
  uint64_t x = 88172645463325252u;
  for (uint64_t& word : block) word = x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  const double begin = Now();
  int64_t bytes = 0;
  while (bytes < kBytes && Now() - begin < seconds / 2) {
    const ssize_t n = ::write(fd, block.data(), kBlock);
    if (n <= 0) return ErrnoStatus(errno, absl::StrCat(directory, ": cannot write a temporary file"));
    bytes += n;
  }
  ::fdatasync(fd);
  peaks->disk_write = static_cast<double>(bytes) / (Now() - begin);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const double read_begin = Now();
  int64_t read = 0;
  for (ssize_t n = 1; n > 0 && Now() - read_begin < seconds / 2; read += n) {
    n = ::pread(fd, block.data(), kBlock, read);
    if (n < 0) return ErrnoStatus(errno, absl::StrCat(directory, ": cannot read a temporary file"));
  }
  peaks->disk_read = static_cast<double>(read) / (Now() - read_begin);
  return absl::OkStatus();
}

// Returns flop per second of the best of several matrix products.
double MeasureMatmul(double seconds, bool bf16, const PeakOptions& options) {
  constexpr int kSize = 1024;
  if (!options.matmul || !options.matmul(kSize, bf16)) return 0;
  double best = 0;
  const double end = Now() + seconds;
  do {
    const double begin = Now();
    options.matmul(kSize, bf16);
    best = std::max(best, 2.0 * kSize * kSize * kSize / (Now() - begin));
  } while (Now() < end);
  return best;
}

absl::StatusOr<MachinePeaks> Measure(const MachineFacts& facts, const PeakOptions& options) {
  const double begin = Now(), unit = options.budget_s / 12;
  MachinePeaks peaks;
  Rounds one(1), all(std::max(1, facts.machine.usable_processors));
  MeasureArithmetic(4 * unit, &one, &all, &peaks);
  MeasureMemory(4 * unit, facts.l3_bytes, &one, &all, &peaks);
  peaks.matmul_fp32 = MeasureMatmul(unit, /*bf16=*/false, options);
  peaks.matmul_bf16 = MeasureMatmul(unit, /*bf16=*/true, options);
  if (!options.temporary_directory.empty()) RETURN_IF_ERROR(MeasureDisk(2 * unit, options.temporary_directory, &peaks));
  peaks.seconds = Now() - begin;
  peaks.load = options.load;
  return peaks;
}

// Takes the higher of both rates, which stand for the calmer of both measurements.
void KeepHighest(const MachinePeaks& before, MachinePeaks* peaks) {
  for (const auto& [name, member] : kNames) {
    const bool is_rate = member != &MachinePeaks::seconds && member != &MachinePeaks::load;
    if (is_rate) peaks->*member = std::max(peaks->*member, before.*member);
  }
  if (before.load >= 0 && peaks->load >= 0) peaks->load = std::min(peaks->load, before.load);
}

std::string KeyOf(const MachineFacts& facts, const PeakOptions& options) {
  return absl::StrCat("version ", kVersion, "; processor ", facts.machine.cpu, "; instructions ",
                      facts.machine.instruction_set, "; processors ", facts.machine.usable_processors, "; cgroup ",
                      facts.allowed_by_cgroup, "; memory ", facts.machine.memory_bytes, "; caches ", facts.l1_bytes,
                      " ", facts.l2_bytes, " ", facts.l3_bytes, "; kernel ", facts.machine.kernel, "; matmul ",
                      options.matmul ? absl::StrCat("ours ", facts.bf16) : "none", "; disk ",
                      options.temporary_directory.empty() ? "none" : options.temporary_directory);
}

// An entry consists of lines: key, peaks, checksum of both.
std::string EntryText(absl::string_view key, absl::string_view json) {
  const std::string text = absl::StrCat(key, "\n", json, "\n");
  return absl::StrCat(text, Sha256Hex(text), "\n");
}

bool ReadEntry(const std::string& path, absl::string_view key, MachinePeaks* peaks) {
  const absl::StatusOr<FileContents> file = FileContents::Open(path);
  if (!file.ok()) return false;
  const std::vector<absl::string_view> lines = absl::StrSplit(file->data(), '\n');
  if (lines.size() != 4 || EntryText(key, lines[1]) != file->data()) return false;
  return ParseMachinePeaks(lines[1], peaks);
}

absl::Status WriteEntry(const std::string& directory, const std::string& path, absl::string_view text) {
  const size_t slash = directory.find_last_of('/');
  if (slash != std::string::npos && slash > 0) RETURN_IF_ERROR(MakeDirectories(directory.substr(0, slash)));
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat(directory, " (the cache of this machine's peaks)"));
  }
  return WriteFileAtomically(path, text);
}

}  // namespace

double MachineLoad() {
  std::ifstream file("/proc/loadavg");
  double load = -1;
  return file >> load ? load : -1;
}

bool IsBusy(double load, int processors) { return load > 0.5 * std::max(1, processors); }

absl::StatusOr<MachinePeaks> FindMachinePeaks(const MachineFacts& facts, const PeakOptions& given) {
  PeakOptions options = given;
  if (options.load < 0) options.load = MachineLoad();
  const std::string key = KeyOf(facts, options);
  const std::string path = absl::StrCat(options.cache_directory, "/", Sha256Hex(key).substr(0, 32), ".peaks");
  MachinePeaks before;
  const bool is_cached = !options.cache_directory.empty() && ReadEntry(path, key, &before);
  const int processors = facts.machine.processors;
  // A machine that has calmed down a little is as good as it gets on some days, so it need not be idle.
  const bool is_calmer = IsBusy(before.load, processors) && options.load >= 0 && options.load < 0.7 * before.load;
  const bool is_exceeded = options.exceeded && !before.exceeded;
  if (is_cached && !options.again && !is_calmer && !is_exceeded) {
    before.cached = true;
    return before;
  }
  ASSIGN_OR_RETURN(MachinePeaks peaks, Measure(facts, options));
  if (is_cached) KeepHighest(before, &peaks);
  peaks.exceeded = before.exceeded || options.exceeded;
  if (!options.cache_directory.empty()) {
    RETURN_IF_ERROR(WriteEntry(options.cache_directory, path, EntryText(key, MachinePeaksJson(peaks))));
  }
  return peaks;
}

std::string MachinePeaksJson(const MachinePeaks& peaks) {
  nlohmann::ordered_json json;
  for (const auto& [name, member] : kNames) json[name] = peaks.*member;
  json["cached"] = peaks.cached;
  json["exceeded"] = peaks.exceeded;
  return json.dump();
}

bool ParseMachinePeaks(absl::string_view text, MachinePeaks* peaks) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  *peaks = MachinePeaks();
  for (const auto& [name, member] : kNames) {
    const auto found = json.find(name);
    if (found == json.end()) continue;
    if (!found->is_number()) return false;
    peaks->*member = found->get<double>();
  }
  for (const auto& [name, member] :
       {std::pair("cached", &MachinePeaks::cached), {"exceeded", &MachinePeaks::exceeded}}) {
    const auto found = json.find(name);
    if (found == json.end()) continue;
    if (!found->is_boolean()) return false;
    peaks->*member = found->get<bool>();
  }
  return true;
}

}  // namespace rutile
