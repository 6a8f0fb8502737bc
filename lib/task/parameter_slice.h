// Says where a named parameter lies in the flat tensor. It is apart from task.h because files and shapes of models need
// no LibTorch.

#ifndef RUTILE_LIB_TASK_PARAMETER_SLICE_H_
#define RUTILE_LIB_TASK_PARAMETER_SLICE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rutile {

// A named parameter, which is the elements [offset, offset + num_elements()) of the flat tensor, row-major.
struct ParameterSlice {
  std::string name;  // "network.Ti.0.weight": stable, it is the name in model files and checkpoints
  int64_t offset = 0;
  std::vector<int64_t> shape;
  bool buffer = false;  // not learned: its gradient is 0, optimizers leave it alone, the task sets it in FinishStep
  bool table = false;   // embeddings: a row belongs to one entity or relation, which a batch need not use

  int64_t num_elements() const {
    int64_t n = 1;
    for (const int64_t size : shape) n *= size;
    return n;
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_PARAMETER_SLICE_H_
