// A capability of tasks whose batches touch a few rows of large tables: they compute the gradient of these rows alone.
//
// It is apart from task.h, which every domain includes: a task of one term with a GradientStream that has it also
// derives from RowGradients, and trainers find it by RowGradientsOf.

#ifndef RUTILE_LIB_TASK_GRADIENTS_ROW_GRADIENTS_H_
#define RUTILE_LIB_TASK_GRADIENTS_ROW_GRADIENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/task/gradients/gradient_stream.h"
#include "lib/task/loss_terms.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A flat gradient that is 0 outside of some ranges.
struct RowGradient {
  // Elements [begin, begin + size) of the gradient are [at, at + size) of `values`.
  struct Range {
    int64_t begin = 0;
    int64_t size = 0;
    int64_t at = 0;
  };
  std::vector<Range> ranges;  // ascending by begin and by at, disjoint; whole rows of tables
  Tensor values;              // of the parameters' type; 0 where no range is
};

class RowGradients {
 public:
  virtual ~RowGradients() = default;

  // False if the batches of this task touch all rows.
  virtual bool has_rows() const = 0;

  // Does what Task::AccumulateGradients does, but overwrites `gradient` with the batch's gradient. All parameters that
  // are of no table (ParameterSlice::table) are in its ranges.
  virtual absl::Status ComputeRows(const Tensor& parameters, const NamedTensors& batch, RowGradient* gradient,
                                   TermSums* sums) = 0;
};

// Returns the capability of a task's stream (null: none); null if it has none.
inline RowGradients* RowGradientsOf(GradientStream* stream) {
  auto* const rows = dynamic_cast<RowGradients*>(stream);
  return rows != nullptr && rows->has_rows() ? rows : nullptr;
}

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENTS_ROW_GRADIENTS_H_
