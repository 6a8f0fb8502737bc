// What the batch norms of a model saw in one training batch, for the running statistics.

#ifndef RUTILE_LIB_KGE_LAYERS_BATCH_STATISTICS_H_
#define RUTILE_LIB_KGE_LAYERS_BATCH_STATISTICS_H_

#include <vector>

namespace rutile {

// running = (1 - momentum) running + momentum value, as PyTorch does it.
struct BatchStatistics {
  struct Norm {
    std::vector<double> mean;
    std::vector<double> variance;  // unbiased, n / (n - 1) times what normalizes
  };
  Norm bn0;  // [1]
  Norm bn1;  // [C]
  Norm bn2;  // [d]; all empty where the model has no such norm, and in evaluation
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_BATCH_STATISTICS_H_
