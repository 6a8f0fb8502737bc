// Groups examples of similar cost into batches, in an order that stays random.

#ifndef RUTILE_LIB_TRAIN_STEP_BUCKETING_H_
#define RUTILE_LIB_TRAIN_STEP_BUCKETING_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/task/task.h"

namespace rutile {

// Reorders an epoch's `examples`, which are in random order, so that each batch of batch_size holds examples of similar
// Task::ExampleCost. Examples are sorted by cost within windows of window * batch_size (equal ones keep their order),
// and the resulting batches of all windows are shuffled together by `stream`. The examples after the last whole batch
// stay at the end as they are: they are an average batch, and never the largest examples.
//
// This is the bucketing of language models, where a batch is padded to its longest sentence. A larger window gives more
// similar batches, a smaller one more randomness: 1 leaves each batch its examples and only sorts them. CHECK-fails on
// batch_size or window < 1.
void BucketByCost(const Task& task, int64_t batch_size, int64_t window, RandomStream stream,
                  std::vector<int64_t>* examples);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_BUCKETING_H_
