#include "lib/train/data_loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"

namespace rutile {

// Batch b of the epoch lives in slot b mod ring size. A worker may make batch b once batch b - ring size was handed
// back, which the call of Next after it does; so no slot is written while it is read.
struct DataLoader::Impl {
  struct Slot {
    NamedTensors batch;
    absl::Status status;
    bool ready = false;
  };

  Impl(const Task& task, std::vector<int64_t> given, const DataLoaderOptions& options)
      : task(task), options(options), all(std::move(given)), order(all) {
    CHECK(options.batch_size >= 1 && options.num_workers >= 0 && options.prefetch_factor >= 1);
    num_batches = (static_cast<int64_t>(all.size()) + options.batch_size - 1) / options.batch_size;
    next_to_make = next_to_take = num_batches;
    slots.resize(std::max(1, options.num_workers * options.prefetch_factor + (options.num_workers > 0)));
    for (int i = 0; i < options.num_workers; ++i) workers.emplace_back([this] { Work(); });
  }

  ~Impl() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop = true;
    }
    may_make.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  absl::Span<const int64_t> ExamplesOf(int64_t b) const {
    return absl::MakeConstSpan(order).subspan(b * options.batch_size, options.batch_size);
  }

  Slot& SlotOf(int64_t b) { return slots[b % static_cast<int64_t>(slots.size())]; }

  bool CanMake() const {
    return next_to_make < num_batches && next_to_make < released + static_cast<int64_t>(slots.size());
  }

  void Work() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      may_make.wait(lock, [this] { return stop || CanMake(); });
      if (stop) return;
      const int64_t b = next_to_make++;
      Slot& slot = SlotOf(b);
      ++working;
      lock.unlock();
      slot.status = task.MakeBatch(ExamplesOf(b), &slot.batch);
      lock.lock();
      --working;
      slot.ready = true;
      made.notify_all();
    }
  }

  void StartEpoch(int64_t epoch, int64_t first_batch) {
    CHECK(first_batch >= 0 && first_batch <= num_batches) << first_batch;
    std::unique_lock<std::mutex> lock(mutex);
    next_to_make = num_batches;  // nobody begins another
    made.wait(lock, [this] { return working == 0; });
    if (options.shuffle) {
      const std::vector<int64_t> permutation =
          RandomPermutation(static_cast<int64_t>(all.size()), RandomStream(options.seed, "shuffle", epoch));
      for (size_t i = 0; i < all.size(); ++i) order[i] = all[permutation[i]];
    }
    for (Slot& slot : slots) slot.ready = false;
    next_to_make = next_to_take = released = first_batch;
    current = absl::Span<const int64_t>();
    lock.unlock();
    may_make.notify_all();
  }

  absl::StatusOr<const NamedTensors*> Next() {
    if (next_to_take == num_batches) return nullptr;
    const int64_t b = next_to_take;
    Slot& slot = SlotOf(b);
    if (workers.empty()) {
      slot.status = task.MakeBatch(ExamplesOf(b), &slot.batch);
    } else {
      std::unique_lock<std::mutex> lock(mutex);
      if (released < b) {  // the batch before this one is no longer in use
        SlotOf(released).ready = false;
        released = b;
        may_make.notify_one();
      }
      made.wait(lock, [&slot] { return slot.ready; });
    }
    ++next_to_take;
    current = ExamplesOf(b);
    RETURN_IF_ERROR(slot.status);
    return &slot.batch;
  }

  const Task& task;
  const DataLoaderOptions options;
  const std::vector<int64_t> all;
  std::vector<int64_t> order;  // of this epoch
  int64_t num_batches;
  int64_t next_to_take;  // of the caller alone
  absl::Span<const int64_t> current;
  std::vector<Slot> slots;

  std::mutex mutex;
  std::condition_variable may_make, made;
  int64_t next_to_make;
  int64_t released = 0;  // batches before this one are no longer in use
  int working = 0;
  bool stop = false;
  std::vector<std::thread> workers;
};

DataLoader::DataLoader(const Task& task, std::vector<int64_t> examples, const DataLoaderOptions& options)
    : impl_(std::make_unique<Impl>(task, std::move(examples), options)) {}

DataLoader::~DataLoader() = default;

int64_t DataLoader::num_examples() const { return static_cast<int64_t>(impl_->all.size()); }

int64_t DataLoader::num_batches() const { return impl_->num_batches; }

void DataLoader::StartEpoch(int64_t epoch, int64_t first_batch) { impl_->StartEpoch(epoch, first_batch); }

absl::StatusOr<const NamedTensors*> DataLoader::Next() { return impl_->Next(); }

absl::Span<const int64_t> DataLoader::examples() const { return impl_->current; }

}  // namespace rutile
