#include "lib/train/step/data_loader.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/work_share.h"
#include "lib/task/model_sharding.h"
#include "lib/trace/scope.h"
#include "lib/train/step/bucketing.h"

namespace rutile {
namespace {

// Draws n positions in `weights`, each in proportion to its weight.
std::vector<int64_t> WeightedDraw(absl::Span<const double> weights, int64_t n, RandomStream stream) {
  CHECK_EQ(static_cast<int64_t>(weights.size()), n);
  std::vector<double> end;  // end of each position's part of [0, total)
  end.reserve(weights.size());
  double total = 0;
  for (const double weight : weights) {
    CHECK(weight >= 0 && std::isfinite(weight)) << weight;
    end.push_back(total += weight);
  }
  CHECK(total > 0 && std::isfinite(total)) << total;
  std::vector<int64_t> drawn(n);
  for (int64_t& position : drawn) {
    const auto found = std::upper_bound(end.begin(), end.end(), stream.Uniform() * total);
    // Rounding may reach total itself: then take the last position with a positive weight.
    position = (found == end.end() ? std::lower_bound(end.begin(), end.end(), total) : found) - end.begin();
  }
  return drawn;
}

}  // namespace

// Batch b of the epoch lives in slot b mod ring size. A worker may make batch b once batch b - ring size has been
// released, which happens in the call of Next after it was returned; so no slot is written while it is read.
struct DataLoader::Impl {
  struct Slot {
    NamedTensors batch;
    std::vector<int64_t> share;  // this process's examples, if there are several processes
    absl::Status status;
    std::exception_ptr thrown;  // by the worker that made the batch: memory was used up, as a rule
    bool ready = false;
  };

  Impl(const Task& task, std::vector<int64_t> given, const DataLoaderOptions& options)
      : task(task), options(options), all(std::move(given)), order(all) {
    CHECK(options.batch_size >= 1 && options.num_workers >= 0 && options.prefetch_factor >= 1 &&
          options.bucket_window >= 0 && options.rank >= 0 && options.rank < options.num_ranks);
    num_batches = (static_cast<int64_t>(all.size()) + options.batch_size - 1) / options.batch_size;
    next_to_make = next_to_take = num_batches;
    slots.resize(std::max(1, options.num_workers * options.prefetch_factor + (options.num_workers > 0)));
    for (Slot& slot : slots) task.ReserveBatch(&slot.batch);
    if (options.persistent_workers) StartWorkers();
  }

  ~Impl() { JoinWorkers(); }

  // A limit on memory or processes may allow fewer threads than asked for, or none: batches are the same from those
  // there are, or from the caller's alone.
  void StartWorkers() {
    workers.reserve(options.num_workers);
    const char* why = nullptr;
    try {
      for (int i = 0; i < options.num_workers; ++i) workers.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      why = "the system allows no more memory or processes (ulimit -v, ulimit -u)";
    } catch (const std::bad_alloc&) {
      why = "out of memory";
    }
    if (why == nullptr || has_warned) return;
    has_warned = true;  // of several epochs, the first
    LOG(WARNING) << "batches are made ahead by " << workers.size() << " of num_workers=" << options.num_workers
                 << " threads: " << why;
  }

  void JoinWorkers() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop = true;
    }
    may_make.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
    stop = false;
  }

  absl::Span<const int64_t> ExamplesOf(int64_t b) const {
    if (options.left_out.empty()) return absl::MakeConstSpan(order).subspan(b * options.batch_size, options.batch_size);
    return absl::MakeConstSpan(kept).subspan(kept_begin[b], kept_begin[b + 1] - kept_begin[b]);
  }

  // Sets what is kept of each batch of `order`.
  void LeaveOut() {
    if (options.left_out.empty()) return;
    kept.clear();
    kept_begin.assign(1, 0);
    for (int64_t b = 0; b < num_batches; ++b) {
      for (const int64_t example : absl::MakeConstSpan(order).subspan(b * options.batch_size, options.batch_size)) {
        if (options.left_out[example] == 0) kept.push_back(example);
      }
      kept_begin.push_back(static_cast<int64_t>(kept.size()));
    }
  }

  // The examples of batch b that this process makes.
  absl::Span<const int64_t> OwnOf(int64_t b, const Slot& slot) const {
    return options.num_ranks == 1 ? ExamplesOf(b) : absl::MakeConstSpan(slot.share);
  }

  absl::Status Make(int64_t b, Slot* slot) const {
    if (ExamplesOf(b).empty()) {
      slot->share.clear();
      return absl::OkStatus();
    }
    if (options.num_ranks > 1) slot->share = WorkShare(task, ExamplesOf(b), options.rank, options.num_ranks);
    const absl::Span<const int64_t> own = OwnOf(b, *slot);
    const ProfileScope scope(Stage::kMakeBatch);
    scope.Add(Counter::kExamples, static_cast<int64_t>(own.size()));
    return own.empty() && !SynchronizesBatches(task) ? absl::OkStatus() : task.MakeNumberedBatch(b, own, &slot->batch);
  }

  Slot& SlotOf(int64_t b) { return slots[b % static_cast<int64_t>(slots.size())]; }

  bool CanMake() const {
    return next_to_make < num_batches && next_to_make < released + static_cast<int64_t>(slots.size());
  }

  void Work() {
    SetProfileThreadName("loader");
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      may_make.wait(lock, [this] { return stop || CanMake(); });
      if (stop) return;
      const int64_t b = next_to_make++;
      Slot& slot = SlotOf(b);
      ++working;
      lock.unlock();
      try {
        slot.status = Make(b, &slot);
      } catch (...) {  // it comes back from Next, as without workers
        slot.thrown = std::current_exception();
      }
      lock.lock();
      --working;
      slot.ready = true;
      made.notify_all();
    }
  }

  void EndEpoch() {
    std::unique_lock<std::mutex> lock(mutex);
    next_to_make = next_to_take = num_batches;  // workers find nothing more to make
    made.wait(lock, [this] { return working == 0; });
    lock.unlock();
    if (options.persistent_workers) return;
    JoinWorkers();
    for (Slot& slot : slots) slot.batch = NamedTensors();
  }

  void StartEpoch(int64_t epoch, int64_t first_batch, absl::Span<const double> weights) {
    CHECK(first_batch >= 0 && first_batch <= num_batches) << first_batch;
    EndEpoch();
    DrawOrder(epoch, weights);
    LeaveOut();
    {
      std::lock_guard<std::mutex> lock(mutex);
      for (Slot& slot : slots) slot.ready = false, slot.thrown = nullptr;
      next_to_make = next_to_take = released = first_batch;
      current = current_of_all = absl::Span<const int64_t>();
    }
    if (workers.empty() && first_batch < num_batches) StartWorkers();
    may_make.notify_all();
  }

  // Draws this epoch's examples in their order.
  void DrawOrder(int64_t epoch, absl::Span<const double> weights) {
    const auto n = static_cast<int64_t>(all.size());
    if (!weights.empty()) {
      const std::vector<int64_t> drawn = WeightedDraw(weights, n, RandomStream(options.seed, "sampling", epoch));
      for (int64_t i = 0; i < n; ++i) order[i] = all[drawn[i]];
    } else if (options.shuffle) {
      const std::vector<int64_t> permutation = RandomPermutation(n, RandomStream(options.seed, "shuffle", epoch));
      for (int64_t i = 0; i < n; ++i) order[i] = all[permutation[i]];
    } else {
      return;
    }
    if (options.bucket_window == 0) return;
    BucketByCost(task, options.batch_size, options.bucket_window, RandomStream(options.seed, "bucket", epoch), &order);
  }

  absl::StatusOr<const NamedTensors*> Next() {
    if (next_to_take == num_batches) return nullptr;
    const int64_t b = next_to_take;
    Slot& slot = SlotOf(b);
    if (workers.empty()) {
      slot.status = Make(b, &slot);
    } else {
      std::unique_lock<std::mutex> lock(mutex);
      if (released < b) {  // release the previous batch
        SlotOf(released).ready = false;
        released = b;
        may_make.notify_one();
      }
      const ProfileScope scope(Stage::kWaitForData);
      made.wait(lock, [&slot] { return slot.ready; });
    }
    ++next_to_take;
    current = OwnOf(b, slot);
    current_of_all = ExamplesOf(b);
    if (slot.thrown != nullptr) std::rethrow_exception(std::exchange(slot.thrown, nullptr));
    RETURN_IF_ERROR(slot.status);
    return &slot.batch;
  }

  const Task& task;
  const DataLoaderOptions options;
  const std::vector<int64_t> all;
  std::vector<int64_t> order;  // of this epoch
  // If examples are left out: what is kept of `order`, in which batch b is [kept_begin[b], kept_begin[b + 1]).
  std::vector<int64_t> kept, kept_begin;
  int64_t num_batches;
  int64_t next_to_take;  // used by the caller's thread alone
  absl::Span<const int64_t> current, current_of_all;
  std::vector<Slot> slots;

  std::mutex mutex;
  std::condition_variable may_make, made;
  int64_t next_to_make;
  int64_t released = 0;  // batches before this one are released
  int working = 0;
  bool stop = false;
  std::vector<std::thread> workers;
  bool has_warned = false;
};

DataLoader::DataLoader(const Task& task, std::vector<int64_t> examples, const DataLoaderOptions& options)
    : impl_(std::make_unique<Impl>(task, std::move(examples), options)) {}

DataLoader::~DataLoader() = default;

int64_t DataLoader::num_examples() const { return static_cast<int64_t>(impl_->all.size()); }

int64_t DataLoader::num_batches() const { return impl_->num_batches; }

void DataLoader::StartEpoch(int64_t epoch, int64_t first_batch, absl::Span<const double> weights) {
  impl_->StartEpoch(epoch, first_batch, weights);
}

void DataLoader::EndEpoch() { impl_->EndEpoch(); }

absl::StatusOr<const NamedTensors*> DataLoader::Next() { return impl_->Next(); }

absl::Span<const int64_t> DataLoader::examples() const { return impl_->current; }

absl::Span<const int64_t> DataLoader::all_examples() const { return impl_->current_of_all; }

}  // namespace rutile
