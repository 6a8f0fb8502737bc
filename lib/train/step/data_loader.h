// Batches of a task's examples, in an order that the seed and the epoch alone decide.
//
// Without workers a batch is made when it is asked for, in memory that the last one leaves. With workers, threads make
// the next batches ahead into a ring; they come out in the same order and with the same content.

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
  int64_t batch_size = 32;  // the last batch of an epoch holds what is left
  bool shuffle = true;      // false: the order given
  // Where the order is random: batches of examples of like cost, sorted within windows of so many batches
  // (lib/train/step/bucketing.h). 0: examples come as they were drawn.
  int64_t bucket_window = 0;
  uint64_t seed = 0;
  int num_workers = 0;      // threads besides the caller's
  int prefetch_factor = 2;  // batches ahead, per worker
  // Threads live as long as the loader; false: from StartEpoch to EndEpoch, and batches are freed with them.
  bool persistent_workers = true;
  // Batches are this process's share (lib/distributed/work_share.h) of those of all; it can have no example, then
  // nothing is made.
  int rank = 0;
  int num_ranks = 1;
};

class DataLoader {
 public:
  // `task` must outlive the loader. CHECK-fails on batch_size or prefetch_factor < 1, num_workers or bucket_window < 0.
  DataLoader(const Task& task, std::vector<int64_t> examples, const DataLoaderOptions& options);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  int64_t num_examples() const;
  int64_t num_batches() const;  // of an epoch

  // Starts an epoch at a batch (0 .. num_batches()): a resumed run goes on in the middle. What was made ahead for
  // another epoch is dropped. With `weights` (of each example given, finite, not negative, not all 0) the epoch draws
  // as many examples as there are, with replacement, in proportion to them, whatever `shuffle` says.
  void StartEpoch(int64_t epoch, int64_t first_batch = 0, absl::Span<const double> weights = {});
  // Drops what was made ahead: on return no Task::MakeBatch runs, and none does until StartEpoch.
  void EndEpoch();

  // The next batch, valid until the next call of any of these; nullptr at the end of the epoch. The error is that of
  // Task::MakeBatch, at the batch where it arose.
  absl::StatusOr<const NamedTensors*> Next();

  // The examples in the batch that Next returned last; with others, this process's share.
  absl::Span<const int64_t> examples() const;
  // Of all processes.
  absl::Span<const int64_t> all_examples() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_DATA_LOADER_H_
