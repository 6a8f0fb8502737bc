// The lazy form of any optimizer: rows of embedding tables move only in steps whose batch contains them.
//
// A dense optimizer keeps moving a row without a gradient, by what is left in its averages and by weight decay; so do
// PyTorch's with dense gradients. Here such a row and its averages stay unchanged, as in PyTorch's SparseAdam and
// TensorFlow's LazyAdam. A row has no gradient if all of its components are 0. Steps are counted for all rows alike, so
// that Adam's bias corrections equal those of the dense form.

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

// The state is that of the wrapped optimizer, so a run may switch between both forms.
class LazyRows : public Optimizer {
 public:
  // Applies to the slices that are tables, where `optimizer` moves them. Must not wrap schedule-free optimizers, whose
  // average changes every row in every step. A part of a step must consist of whole rows (CHECK-fails otherwise).
  LazyRows(std::unique_ptr<Optimizer> optimizer, absl::Span<const ParameterSlice> slices);

  void BeginStep(double learning_rate) override { optimizer_->BeginStep(learning_rate); }
  void PassStep() override { optimizer_->PassStep(); }
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
    int64_t begin, end, width;  // width: of a row
  };
  // Calls body(first, size) for runs of rows that move in the part [begin, begin + n), and rest(first, size) for the
  // rows between them.
  template <class Body, class Rest>
  void ForMoving(int64_t begin, const Tensor& gradient, const Body& body, const Rest& rest) const;
  // Returns the end of the row that contains `position`.
  int64_t PartEnd(int64_t position) const override;

  const std::unique_ptr<Optimizer> optimizer_;
  std::vector<Table> tables_;  // ascending
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_LAZY_ROWS_H_
