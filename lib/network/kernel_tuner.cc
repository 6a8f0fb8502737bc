#include "lib/network/kernel_tuner.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/machine/machine.h"
#include "lib/machine/simd.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"

namespace rutile {
namespace {

// The version of the kernels and of this file. Increase it when either changes, so that cached plans are found anew.
constexpr int kVersion = 2;

// A smaller gain is noise, and not worth other bits than those of the default plan.
constexpr double kLeastGain = 1.02;

template <typename T>
std::string KeyOf(const NetworkShape& shape, int num_threads, const TuneOptions& options) {
  return absl::StrCat("version ", kVersion, "; processor ", DescribeMachine().cpu, "; targets ",
                      hwy::SupportedTargets(), "; species ", shape.num_species, "; features ", shape.num_features,
                      "; hidden ", absl::StrJoin(shape.hidden, ","), "; ", kActivationNames.Name(shape.activation),
                      "; fp", 8 * sizeof(T), "; batch ", options.batch_size, "; atoms ",
                      absl::StrJoin(options.atoms, ","), "; order ", options.second_order ? 2 : 1, "; threads ",
                      num_threads, options.rounding ? "; bf16" : "");
}

// The text of a cache entry, in lines: key, plan, speedup, and the checksum of these.
std::string EntryText(absl::string_view key, const TunedKernel& tuned) {
  const std::string text = absl::StrCat(key, "\n", KernelPlanText(tuned.plan), "\n", tuned.speedup, "\n");
  return absl::StrCat(text, Sha256Hex(text), "\n");
}

bool ReadEntry(const std::string& path, absl::string_view key, TunedKernel* tuned) {
  const absl::StatusOr<FileContents> file = FileContents::Open(path);
  if (!file.ok()) return false;
  const std::vector<absl::string_view> lines = absl::StrSplit(file->data(), '\n');
  if (lines.size() != 5) return false;
  const absl::StatusOr<KernelPlan> plan = ParseKernelPlan(lines[1]);
  if (!plan.ok() || !absl::SimpleAtod(lines[2], &tuned->speedup)) return false;
  tuned->plan = *plan;
  tuned->cached = true;
  return EntryText(key, *tuned) == file->data();
}

absl::Status WriteEntry(const std::string& directory, const std::string& path, absl::string_view text) {
  const size_t slash = directory.find_last_of('/');
  if (slash != std::string::npos && slash > 0) RETURN_IF_ERROR(MakeDirectories(directory.substr(0, slash)));
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat(directory, " (the cache of kernel plans; see --compile_cache_dir)"));
  }
  return WriteFileAtomically(path, text);
}

// The work that is timed. Its arrays have the right sizes and shapes; their values do not change the time.
template <typename T>
class Workload {
 public:
  Workload(const NetworkShape& shape, ThreadPool* pool, const TuneOptions& options)
      : second_order_(options.second_order), kernel_(shape, pool) {
    if (options.rounding) kernel_.SetRounding(true);
    for (const double p : InitialNetworkParameters(shape, 1)) parameters_.push_back(static_cast<T>(p));
    for (const int64_t n : options.atoms) species_offset_.push_back(species_offset_.back() + n);
    const int64_t atoms = species_offset_.back();
    num_structures_ = std::max<int64_t>(1, options.batch_size);
    for (int64_t a = 0; a < atoms; ++a) structure_.push_back(static_cast<int32_t>(a % num_structures_));
    RandomStream random(1, "tune");
    for (int64_t i = 0; i < atoms * shape.num_features; ++i) x_.push_back(static_cast<T>(random.Normal()));
    tangents_.assign(x_.rbegin(), x_.rend());
    x_gradients_.resize(x_.size());
    sums_.resize(num_structures_);
    slopes_.assign(num_structures_, 0.1);
    gradients_.resize(parameters_.size());
  }

  void SetPlan(const KernelPlan& plan) { kernel_.SetPlan(plan); }

  const std::vector<T>& Run() {
    const AtomRows<T> rows = {x_, species_offset_, structure_};
    const absl::Span<T> gradients = absl::MakeSpan(gradients_);
    std::fill(gradients_.begin(), gradients_.end(), T(0));
    if (second_order_) {
      kernel_.ForwardWithInputGradients(parameters_, rows, absl::MakeSpan(sums_), absl::MakeSpan(x_gradients_));
      kernel_.AddEnergyAndTangentGradients(parameters_, rows, slopes_, tangents_, gradients);
    } else {
      kernel_.Forward(parameters_, rows, absl::MakeSpan(sums_));
      kernel_.Backward(parameters_, rows, slopes_, gradients);
    }
    return gradients_;
  }

 private:
  const bool second_order_;
  NetworkKernel<T> kernel_;
  int64_t num_structures_;
  std::vector<T> parameters_, x_, tangents_, x_gradients_, gradients_;
  std::vector<int64_t> species_offset_ = {0};
  std::vector<int32_t> structure_;
  std::vector<double> sums_, slopes_;
};

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <typename T>
bool Agree(const std::vector<T>& actual, const std::vector<T>& expected) {
  const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-11;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
    if (!std::isfinite(actual[i])) return false;
  }
  return difference <= tolerance * largest;
}

struct Candidate {
  KernelPlan plan;
  double seconds = std::numeric_limits<double>::infinity();  // of the fastest run
};

// Returns the candidates beside the default plan. Rounding allows kGemm alone.
std::vector<KernelPlan> PlansToTry(const TuneOptions& options) {
  std::vector<KernelPlan> plans;
  for (const int atoms : {kMostWideAtoms, kMostWideAtoms / 2, kMostWideAtoms / 4, kMostWideAtoms / 8}) {
    plans.push_back({atoms, GradientForm::kAuto, NetworkAlgorithm::kGemm});
  }
  for (int atoms = kBlockAtoms; !options.rounding && atoms >= kBlockAtoms / 8; atoms /= 2) {
    for (const GradientForm gradients : {GradientForm::kAuto, GradientForm::kLanes, GradientForm::kTransposed}) {
      plans.push_back({atoms, gradients, NetworkAlgorithm::kFused});
    }
  }
  return plans;
}

template <typename T>
TunedKernel Measure(const NetworkShape& shape, ThreadPool* pool, const TuneOptions& options) {
  const double end = Seconds() + absl::ToDoubleSeconds(options.budget);
  Workload<T> work(shape, pool, options);
  const std::vector<T> expected = work.Run();
  std::vector<Candidate> candidates = {{KernelPlan()}};
  for (const KernelPlan& plan : PlansToTry(options)) {
    work.SetPlan(plan);
    if (Seconds() < end && Agree(work.Run(), expected)) candidates.push_back({plan});
  }
  // Candidates take turns, so that other load on the machine disturbs all alike; the fastest run of each counts.
  constexpr double kLeastTime = 2e-4;  // long enough for the clock's resolution
  do {
    for (Candidate& candidate : candidates) {
      work.SetPlan(candidate.plan);
      const double start = Seconds();
      double now = start;
      int runs = 0;
      for (; now - start < kLeastTime; now = Seconds(), ++runs) work.Run();
      candidate.seconds = std::min(candidate.seconds, (now - start) / runs);
    }
  } while (Seconds() < end);
  const Candidate& best = *std::min_element(candidates.begin(), candidates.end(),
                                            [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  const double speedup = candidates[0].seconds / best.seconds;
  return speedup < kLeastGain ? TunedKernel() : TunedKernel{best.plan, speedup, false};
}

}  // namespace

template <typename T>
absl::StatusOr<TunedKernel> TuneKernel(const NetworkShape& shape, ThreadPool* pool, const TuneOptions& options) {
  const std::string key = KeyOf<T>(shape, pool == nullptr ? 1 : pool->num_threads(), options);
  const std::string path = absl::StrCat(options.cache_directory, "/", Sha256Hex(key).substr(0, 32), ".plan");
  TunedKernel tuned;
  if (!options.cache_directory.empty() && ReadEntry(path, key, &tuned)) return tuned;
  tuned = Measure<T>(shape, pool, options);
  if (!options.cache_directory.empty()) {
    RETURN_IF_ERROR(WriteEntry(options.cache_directory, path, EntryText(key, tuned)));
  }
  return tuned;
}

std::string DefaultCacheDirectory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return absl::StrCat(cache, "/rutile");
  }
  const char* home = std::getenv("HOME");
  return home == nullptr || home[0] == '\0' ? "" : absl::StrCat(home, "/.cache/rutile");
}

std::string Describe(const TunedKernel& tuned) {
  const char* const found = tuned.cached ? " (found by an earlier run)" : "";
  if (tuned.plan == KernelPlan()) return absl::StrCat("the default plan is the fastest", found);
  return absl::StrFormat("%s, %.2f times as fast as the default plan%s", KernelPlanText(tuned.plan), tuned.speedup,
                         found);
}

template absl::StatusOr<TunedKernel> TuneKernel<float>(const NetworkShape&, ThreadPool*, const TuneOptions&);
template absl::StatusOr<TunedKernel> TuneKernel<double>(const NetworkShape&, ThreadPool*, const TuneOptions&);

}  // namespace rutile
