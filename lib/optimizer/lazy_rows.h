// Rows of embedding tables that move only when a batch concerns them: the lazy form of any optimizer.
//
// A dense optimizer goes on moving a row that has no gradient, by what is left in its averages, and by weight decay; so
// does PyTorch's with dense gradients. Here such a row stays as it is, and so do its averages, as in PyTorch's
// SparseAdam and TensorFlow's LazyAdam. Which rows have no gradient is read from the gradient: all of their numbers
// are 0. Steps are counted for all rows alike, so that Adam's corrections of its averages are those of the dense form.

#ifndef RUTILE_LIB_OPTIMIZER_LAZY_ROWS_H_
#define RUTILE_LIB_OPTIMIZER_LAZY_ROWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// State is the optimizer's: a run may go on with the other form.
class LazyRows : public Optimizer {
 public:
  // Of slices that are tables, wherever `optimizer` moves them. Not for schedule-free optimizers, whose average takes a
  // share of every row in every step. A part of a step has whole rows (CHECK-fails otherwise).
  LazyRows(std::unique_ptr<Optimizer> optimizer, absl::Span<const ParameterSlice> slices);

  void BeginStep(double learning_rate) override { optimizer_->BeginStep(learning_rate); }
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  double StepPartKeeping(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters,
                         Tensor* kept) override;
  const Tensor& EvaluationParameters(const Tensor& parameters) override {
    return optimizer_->EvaluationParameters(parameters);
  }
  const std::vector<bool>& frozen() const override { return optimizer_->frozen(); }
  NamedTensors State() const override { return optimizer_->State(); }
  absl::Status SetState(const NamedTensors& state) override { return optimizer_->SetState(state); }

 private:
  struct Table {
    int64_t begin, end, width;  // of a row
  };
  // Calls body(first, size) for what of a part [begin, begin + n) moves, neighbors together; rest(first, size) for the
  // rows between.
  template <class Body, class Rest>
  void ForMoving(int64_t begin, const Tensor& gradient, const Body& body, const Rest& rest) const;
  // The end of the row that `position` lies in.
  int64_t PartEnd(int64_t position) const override;

  const std::unique_ptr<Optimizer> optimizer_;
  std::vector<Table> tables_;  // ascending
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_LAZY_ROWS_H_
