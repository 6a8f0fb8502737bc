// Makes batches of a task's examples, ahead of training, in an order that depends on seed and epoch alone.
//
// Without workers a batch is made when it is requested, in the memory of the previous one. With workers, threads make
// the next batches ahead into a ring; batches come out in the same order and with the same content.
//
// Example:
//   DataLoaderOptions options;
//   options.batch_size = 32;
//   options.num_workers = 2;
//   DataLoader loader(task, split.train, options);
//   loader.StartEpoch(/*epoch=*/0);
//   for (int64_t b = 0; b < loader.num_batches(); ++b) {
//     ASSIGN_OR_RETURN(const NamedTensors* batch, loader.Next());
//     ...  // *batch holds loader.examples()
//   }
//   loader.EndEpoch();

#ifndef RUTILE_LIB_TRAIN_STEP_DATA_LOADER_H_
#define RUTILE_LIB_TRAIN_STEP_DATA_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

struct DataLoaderOptions {
  int64_t batch_size = 32;  // the last batch of an epoch may be smaller
  bool shuffle = true;      // false: examples keep their order
  // Number of batches in a window within which examples are sorted by cost (lib/train/step/bucketing.h), if the order
  // is random. 0: examples come as they were drawn.
  int64_t bucket_window = 0;
  uint64_t seed = 0;
  int num_workers = 0;      // threads besides the caller's
  int prefetch_factor = 2;  // batches ahead, per worker
  // true: threads live as long as the loader. false: they live from StartEpoch to EndEpoch, and batches are freed then.
  bool persistent_workers = true;
  // [num_examples of the task] or empty: 1 for examples that are drawn but leave their batch before it is made, so that
  // the order and the number of batches are those of all examples. A batch may be empty then. Must outlive the loader.
  absl::Span<const uint8_t> left_out;
  // This process's share of each batch (lib/distributed/work_share.h). If the share has no example, no batch is made.
  int rank = 0;
  int num_ranks = 1;
};

// The loader of one set of examples. Only the caller's thread may use it; workers are its own.
class DataLoader {
 public:
  // `task` must outlive the loader. CHECK-fails on batch_size or prefetch_factor < 1, num_workers or bucket_window < 0.
  DataLoader(const Task& task, std::vector<int64_t> examples, const DataLoaderOptions& options);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  int64_t num_examples() const;  // those left out among them
  int64_t num_batches() const;   // batches of an epoch

  // Starts an epoch at batch first_batch, 0 .. num_batches(), so that a run can resume inside an epoch. Batches made
  // ahead for another epoch are dropped. If `weights` are given (one per example, finite, not negative, not all 0), the
  // epoch draws as many examples as there are, with replacement and in proportion to them, regardless of `shuffle`.
  void StartEpoch(int64_t epoch, int64_t first_batch = 0, absl::Span<const double> weights = {});
  // Drops batches made ahead. After it returns no Task::MakeBatch runs until StartEpoch.
  void EndEpoch();

  // Returns the next batch, valid until the next call of a non-const member; nullptr at the end of the epoch. An error
  // of Task::MakeNumberedBatch is returned for the batch where it arose.
  absl::StatusOr<const NamedTensors*> Next();

  // The examples in the batch that Next returned last: this process's share if there are several.
  absl::Span<const int64_t> examples() const;
  // The examples of that batch in all processes. Without any there is nothing to learn from, and no batch was made.
  absl::Span<const int64_t> all_examples() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_DATA_LOADER_H_
