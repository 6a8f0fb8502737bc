// Counts the heap allocations of training steps: with --compile_preset=reduce-overhead none from the first step on,
// whatever the batch; by default none after batches of the largest size have been seen.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/optimizer/optimizer.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/train/step/data_loader.h"
#include "lib/train/step/loss_gradient.h"

// All heap allocations, also those of LibTorch and glibc, call these functions.
namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* p, size_t size) {
  ++allocations;
  return __libc_realloc(p, size);
}
void* memalign(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** p, size_t alignment, size_t size) {
  *p = memalign(alignment, size);
  return *p == nullptr ? 12 : 0;
}
}

namespace rutile {
namespace {

const AtomicData& Data() {
  static const auto* const data = [] {
    FeaturizeOptions options;
    options.descriptor.species = {22, 8};
    options.descriptor.rad_order = 6;
    options.descriptor.rad_cutoff = 4.5;
    options.descriptor.ang_cutoff = 3;
    const std::string path = testing::TempDir() + "/features.safetensors";
    EXPECT_TRUE(Featurize({"data/tio2-pbe/tio2-pbe.extxyz"}, path, options, {}).ok());
    return new AtomicData(*AtomicData::Read({path}, {}));
  }();
  return *data;
}

// Returns the allocations of each step of two epochs, in all that BatchEpoch does with a batch.
std::vector<int64_t> StepAllocations(const AtomisticTaskOptions& options) {
  std::vector<int64_t> examples(Data().num_structures());
  std::iota(examples.begin(), examples.end(), 0);
  auto created = AtomisticTask::Create(Data(), options, examples);
  EXPECT_TRUE(created.ok()) << created.status();
  AtomisticTask& task = **created;
  DataLoaderOptions loading;
  loading.batch_size = options.compile.batch_size;
  DataLoader loader(task, examples, loading);
  LossGradient loss(task, CompileMode::kCompile);
  const auto optimizer = MakeOptimizer({}, task.parameter_dtype(), task.num_parameters());
  Checkpoint state;
  state.parameters = task.InitialParameters(1);
  std::vector<int64_t> counts;
  for (int epoch = 0; epoch < 2; ++epoch) {
    loader.StartEpoch(epoch);
    for (int64_t b = 0; b < loader.num_batches(); ++b) {
      const int64_t before = allocations;
      const auto batch = loader.Next();
      loss.Clear();
      const bool ok =
          batch.ok() && loss.Add(state.parameters, **batch).ok() && loss.Combine(state, loader.examples()).ok();
      optimizer->Step(1e-3, loss.gradient(), &state.parameters);
      const int64_t after = allocations;
      EXPECT_TRUE(ok);
      counts.push_back(after - before);
    }
  }
  return counts;
}

class StepAllocationsTest : public testing::TestWithParam<DType> {};

TEST_P(StepAllocationsTest, ReduceOverheadAllocatesNothingInAnyStep) {
  for (const int threads : {1, 2}) {
    for (const int64_t batch_size : {1, 32, 100000}) {
      AtomisticTaskOptions options;
      options.precision = GetParam();
      options.num_threads = threads;
      options.compile.preset = CompilePreset::kReduceOverhead;
      options.compile.batch_size = batch_size;
      const std::vector<int64_t> counts = StepAllocations(options);
      EXPECT_EQ(counts, std::vector<int64_t>(counts.size(), 0)) << threads << " threads, batches of " << batch_size;
    }
  }
}

TEST_P(StepAllocationsTest, MaxAutotuneNeither) {
  AtomisticTaskOptions options;
  options.precision = GetParam();
  options.compile.preset = CompilePreset::kMaxAutotune;
  const std::vector<int64_t> counts = StepAllocations(options);
  EXPECT_EQ(counts, std::vector<int64_t>(counts.size(), 0));
}

TEST_P(StepAllocationsTest, TheDefaultAllocatesWhereABatchIsTheLargestSoFar) {
  AtomisticTaskOptions options;
  options.precision = GetParam();
  const std::vector<int64_t> counts = StepAllocations(options);
  EXPECT_GT(counts[0], 0);
  int64_t steps = 0;
  for (const int64_t count : counts) steps += count > 0;
  EXPECT_LE(steps, 4);
}

INSTANTIATE_TEST_SUITE_P(Precisions, StepAllocationsTest, testing::Values(DType::kF32, DType::kF64));

}  // namespace
}  // namespace rutile
