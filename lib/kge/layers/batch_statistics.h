// The statistics that a model's batch norms computed from one training batch, from which running statistics follow.

#ifndef RUTILE_LIB_KGE_LAYERS_BATCH_STATISTICS_H_
#define RUTILE_LIB_KGE_LAYERS_BATCH_STATISTICS_H_

#include <vector>

namespace rutile {

// Statistics of the three norms; running = (1 - momentum) running + momentum statistics, as in PyTorch.
struct BatchStatistics {
  struct Norm {
    std::vector<double> mean;
    std::vector<double> variance;  // unbiased: n / (n - 1) times the variance that normalizes
  };
  Norm bn0;  // [1]
  Norm bn1;  // [C]
  Norm bn2;  // [d]; a norm that the model does not have is empty, and all are in evaluation
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_BATCH_STATISTICS_H_
