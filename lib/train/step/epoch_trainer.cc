#include "lib/train/step/epoch_trainer.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

void EpochWork::Add(const Task& task, absl::Span<const int64_t> more) {
  examples += static_cast<int64_t>(more.size());
  for (const int64_t example : more) cost += task.ExampleCost(example);
}

absl::StatusOr<double> CombineLoss(const EpochContext& context, absl::Span<const int64_t> examples,
                                   const NamedTensors& batch, LossGradient* loss) {
  absl::StatusOr<double> value = loss->Combine(context.state, examples);
  if (absl::IsOutOfRange(value.status()) && context.on_failed) {
    context.on_failed({examples, &batch, &loss->sums(), context.task.CombineTerms(loss->sums()).value, loss->norm(),
                       value.status().message()});
  }
  return value;
}

DataLoaderOptions LoaderOptions(const TrainerOptions& options) {
  DataLoaderOptions loader;
  loader.batch_size = options.batch_size;
  loader.shuffle = options.shuffle;
  if (options.bucket_by_size) loader.bucket_window = options.bucket_window;
  loader.seed = options.seed;
  loader.left_out = options.left_out;
  loader.num_workers = options.num_workers;
  loader.prefetch_factor = options.prefetch_factor;
  loader.persistent_workers = options.persistent_workers;
  if (!options.shard_model) DealOut(options.communicator, &loader);
  return loader;
}

void DealOut(const Communicator* communicator, DataLoaderOptions* loader) {
  if (communicator == nullptr) return;
  loader->rank = communicator->rank();
  loader->num_ranks = communicator->size();
}

}  // namespace rutile
