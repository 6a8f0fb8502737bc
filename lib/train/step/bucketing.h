// Batches of examples of like size, in an order that stays random.

#ifndef RUTILE_LIB_TRAIN_STEP_BUCKETING_H_
#define RUTILE_LIB_TRAIN_STEP_BUCKETING_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/task/task.h"

namespace rutile {

// Reorders an epoch's `examples`, which are in random order, so that each batch of batch_size holds examples of like
// Task::ExampleCost: within windows of window * batch_size examples they are sorted by cost (equal ones stay in their
// order), and the batches that this gives come in the order that `stream` draws, those of all windows mixed. The
// examples after the last whole batch stay as they are, at the end: an average batch, and never the largest examples.
//
// This is the bucketing of language models, where a batch is padded to its longest sentence. window trades likeness
// (many batches) for chance (few): 1 leaves each batch its examples and only sorts them.
// CHECK-fails on batch_size or window < 1.
void BucketByCost(const Task& task, int64_t batch_size, int64_t window, RandomStream stream,
                  std::vector<int64_t>* examples);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_BUCKETING_H_
