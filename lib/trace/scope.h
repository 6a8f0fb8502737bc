// Records which stage of its work a thread is in, for --timing and profiles.
//
//   const ProfileScope scope(Stage::kSearch);
//   scope.Add(Counter::kPairs, pairs);
//
// Scopes of a thread nest, and their stages form the path of a place: "validation/forward" is another place than
// "forward". Each place has its number of calls, its time with (total) and without (self) the stages inside it, and
// counters. While profiling is off, a scope costs one relaxed load and a branch. While it is on, it costs two readings
// of the processor's clock and some additions to memory of this thread alone
// (benchmarks/training/profile_benchmark.cc). Scopes are therefore meant for stages of 10 us and more, that is for
// batches, chunks of structures or files, not for atoms.
//
// lib/profile/session.h turns profiling on and collects the records.

#ifndef RUTILE_LIB_TRACE_SCOPE_H_
#define RUTILE_LIB_TRACE_SCOPE_H_

#include <atomic>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace rutile {

// Stages of work, as records name them.
enum class Stage : uint8_t {
  kOther,             // work of the main thread outside any scope
  kStartup,           // before main: loading libraries
  kRead,              // bytes from files
  kParse,             // converting text or a file's header to structures, triples, tensors
  kHash,              // SHA-256 of inputs, for provenance
  kSearch,            // searching neighbors
  kTriplets,          // making lists of triplets
  kFeatures,          // descriptors
  kScale,             // statistics of features, and their scaling
  kGraph,             // vocabularies, known tails, indices
  kSetup,             // making models, tasks, threads
  kWaitForData,       // the next batch or chunk is not ready
  kWaitForThreads,    // this thread's share of a loop is done, that of other threads is not
  kWaitForProcesses,  // waiting for processes that do the work
  kMakeBatch,         // gathering examples
  kForward,           // model to loss
  kBackward,          // loss to gradient
  kStep,              // forward and backward in one, in native kernels, with the stages below inside
  kDescriptor,        // descriptors of a batch in a training step
  kNetwork,           // energies and their derivatives with respect to features
  kVjp,               // derivatives with respect to features to forces
  kJvp,               // gradients of the force loss to tangents of features
  kTangents,          // gradients of parameters from tangents
  kEmbedding,         // rows of a knowledge graph's model
  kConv,              // convolution, its normalization and dropout
  kFc,                // fully connected layer
  kScores,            // scores of entities, and the loss on them
  kRoundedScores,     // scores of factors in bfloat16, whatever the precision, and the comparisons they decide
  kOptimizer,         // updating parameters
  kAllReduce,         // sums over processes
  kValidation,        // loss and metrics of held out examples
  kCheckpoint,        // writing and reading checkpoints
  kLog,               // writing log rows and progress
  kPredict,           // predicting energies and forces by a trained model
  kRank,              // filtered ranks of triples
  kGradients,         // gradients of single examples
  kProducts,          // products of gradients
  kMetrics,           // errors from predictions
  kReport,            // plots and HTML
  kWrite,             // writing outputs
};
constexpr int kNumStages = static_cast<int>(Stage::kWrite) + 1;

// Returns the stage's name in records, tables and TSV: "wait_for_data".
absl::string_view StageName(Stage stage);

// Counters, which are added up at the innermost scope. kFlop and kBytes come from closed forms of the algorithm, not
// from the hardware: a multiplication and an addition count one each, and bytes are those that must move between memory
// and processor at least once.
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

// Returns the counter's name: "atoms".
absl::string_view CounterName(Counter counter);

namespace profile_internal {
struct Node;
struct ThreadLog;
inline std::atomic<bool> is_on{false};
}  // namespace profile_internal

inline bool ProfilingIsOn() { return profile_internal::is_on.load(std::memory_order_relaxed); }

// Records that its thread is in a stage while the object lives.
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

  // Adds n to a counter of this place; does nothing while profiling is off. If computing `n` takes time: if
  // (scope.is_on()) scope.Add(...).
  void Add(Counter counter, int64_t n) const {
    if (log_ == nullptr) return;
    std::atomic<int64_t>& sum = counters_[static_cast<int>(counter)];  // only this thread writes it
    sum.store(sum.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  bool is_on() const { return log_ != nullptr; }

 private:
  friend struct profile_internal::ThreadLog;
  void Begin(Stage stage);
  void End();
  void AddTotal(profile_internal::Node* node, int64_t ticks);

  profile_internal::ThreadLog* log_ = nullptr;  // this thread's log; null while profiling is off
  // Begin sets the following members.
  std::atomic<int64_t>* counters_;
  ProfileScope* outer_;
  uint64_t start_;
  uint64_t inside_;  // ticks in scopes inside this one
  int node_;
};

// Adds n to a counter of this thread's innermost scope, or of "other" outside any scope. Does nothing while profiling
// is off.
void ProfileCount(Counter counter, int64_t n);

// Sets this thread's name in records: "loader", "reader"; the default is "worker". Consecutive threads of the same name
// share a row. The string must live as long as the program.
void SetProfileThreadName(const char* name);

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_SCOPE_H_
