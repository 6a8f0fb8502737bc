// Scopes: which stage of its work a thread is in, for --timing and profiles.
//
//   const ProfileScope scope(Stage::kSearch);
//   scope.Add(Counter::kPairs, pairs);
//
// Scopes of a thread nest. A stage inside another is another place than the stage alone: "validation/forward" is not
// "forward". Each place has its number of calls, its time with (total) and without (self) the stages inside it, and
// counters. While profiling is off a scope costs one relaxed load and a branch. While it is on, two readings of the
// processor's clock and some additions to memory of this thread alone (benchmarks/profile_benchmark.cc): for stages of
// 10 us and more, that is for batches, chunks of structures or files, not for atoms.
//
// lib/profile/session.h turns profiling on and collects.

#ifndef RUTILE_LIB_TRACE_SCOPE_H_
#define RUTILE_LIB_TRACE_SCOPE_H_

#include <atomic>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace rutile {

enum class Stage : uint8_t {
  kOther,             // of the main thread: outside of any scope
  kStartup,           // before main: loading libraries
  kRead,              // bytes from files
  kParse,             // text, or a file's header, to structures, triples, tensors
  kHash,              // SHA-256 of inputs, for provenance
  kSearch,            // neighbors
  kTriplets,          // lists of them
  kFeatures,          // descriptors
  kScale,             // statistics of features, and their scaling
  kGraph,             // vocabularies, known tails, indices
  kSetup,             // of models, tasks, threads
  kWaitForData,       // the next batch or chunk is not ready
  kWaitForThreads,    // this thread's share of a loop is done, that of others is not
  kWaitForProcesses,  // which do the work
  kMakeBatch,         // gathering examples
  kForward,           // model to loss
  kBackward,          // loss to gradient
  kStep,              // both where they are one, native: with the stages below inside
  kDescriptor,        // of a training step: descriptors of a batch
  kNetwork,           // energies and their derivatives with respect to features
  kVjp,               // derivatives with respect to features to forces
  kJvp,               // gradients of the force loss to tangents of features
  kTangents,          // gradients of parameters from tangents
  kEmbedding,         // rows of a knowledge graph's model
  kConv,              // convolution, its normalization and dropout
  kFc,                // fully connected layer
  kScores,            // of entities, and the loss on them
  kRoundedScores,     // of factors in bfloat16, whatever the precision, and what they decide of exact ones
  kOptimizer,         // step of parameters
  kAllReduce,         // sums over processes
  kValidation,        // loss and metrics of held out examples
  kCheckpoint,        // writing and reading them
  kLog,               // rows and progress
  kPredict,           // of a trained model: energies, forces
  kRank,              // of triples, filtered
  kGradients,         // of single examples
  kProducts,          // of gradients
  kMetrics,           // errors from predictions
  kReport,            // plots and HTML
  kWrite,             // outputs
};
constexpr int kNumStages = static_cast<int>(Stage::kWrite) + 1;

// "wait_for_data"; in records, tables and TSV.
absl::string_view StageName(Stage stage);

// Added up at the innermost scope. kFlop and kBytes come from closed forms of the algorithm, not from the hardware:
// multiplications and additions are one each; bytes are those that must go between memory and processor at least once.
enum class Counter : uint8_t {
  kExamples,    // structures of training, triples or (head, relation) pairs
  kStructures,  // read, searched, predicted
  kAtoms,
  kPairs,
  kTriplets,
  kTriples,
  kFlop,
  kBytes,
};
constexpr int kNumCounters = static_cast<int>(Counter::kBytes) + 1;

// "atoms"
absl::string_view CounterName(Counter counter);

namespace profile_internal {
struct Node;
struct ThreadLog;
inline std::atomic<bool> is_on{false};
}  // namespace profile_internal

inline bool ProfilingIsOn() { return profile_internal::is_on.load(std::memory_order_relaxed); }

class ProfileScope {
 public:
  explicit ProfileScope(Stage stage) {
    if (ProfilingIsOn()) Begin(stage);
  }
  ~ProfileScope() {
    if (log_ != nullptr) End();
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

  // Nothing while profiling is off. Where computing `n` costs something: if (scope.is_on()) scope.Add(...).
  void Add(Counter counter, int64_t n) const {
    if (log_ == nullptr) return;
    std::atomic<int64_t>& sum = counters_[static_cast<int>(counter)];  // this thread alone writes it
    sum.store(sum.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  bool is_on() const { return log_ != nullptr; }

 private:
  friend struct profile_internal::ThreadLog;
  void Begin(Stage stage);
  void End();
  void AddTotal(profile_internal::Node* node, int64_t ticks);

  profile_internal::ThreadLog* log_ = nullptr;  // of this thread; null while off
  // Set by Begin.
  std::atomic<int64_t>* counters_;
  ProfileScope* outer_;
  uint64_t start_;
  uint64_t inside_;  // ticks in scopes inside this one
  int node_;
};

// Adds to this thread's innermost scope, or to "other" outside of any. Nothing while profiling is off.
void ProfileCount(Counter counter, int64_t n);

// What this thread is called in records: "loader", "reader". Threads of the same name that live one after the other
// are one row. A string that lives as long as the program. Without a call it is "worker".
void SetProfileThreadName(const char* name);

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_SCOPE_H_
