// An optimizer's step that begins while the task works on its gradient: what is handed over (lib/task/gradient_sink.h)
// moves at once, while parameters and gradient are in the processor's cache, and the rest when the whole is known.

#ifndef RUTILE_LIB_OPTIMIZER_FUSED_STEP_H_
#define RUTILE_LIB_OPTIMIZER_FUSED_STEP_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/types/span.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/gradient_observer.h"
#include "lib/task/gradient_sink.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Parameters and the optimizer's state become, to the bit, what Optimizer::Step of the whole gradient would make them.
//
// A number that is not finite may come last, when most parameters have moved. So what moves is kept first, where the
// gradient would have been (nobody reads that: the task hands it over instead), and Undo puts it back: parameters are
// to the bit those before the step. The optimizer's averages are not, but nobody will see them, since such a step ends
// the run and no checkpoint of it is written.
class FusedStep : public GradientSink {
 public:
  // For one step of `optimizer`; the task will fill `gradient` [P], but for what it hands over. The step is that of
  // `weight` times the gradient. bytes: that moving one number takes from memory, for profiles. All pointers must live
  // until Finish or Undo, of which one must follow. parts: ascending, nothing moves elsewhere, and the gradient there
  // is not read; nullptr: all moves.
  void Begin(Optimizer* optimizer, double learning_rate, double weight, Tensor* parameters, Tensor* gradient,
             int64_t bytes, const std::vector<GradientRange>* parts = nullptr);
  void Take(int64_t begin, const Tensor& values) override;

  // Of all, handed over or not, when the task is done: the Euclidean norm of `weight` times the gradient, summed part
  // by part. Not finite when a number is not.
  double Norm();
  // The same before the root is taken, of what was handed over and the rest of `parts`.
  double Squares(absl::Span<const GradientRange> parts);
  // Moves what was not handed over.
  void Finish();
  // Parameters as they were before.
  void Undo();

  double weight() const { return weight_; }
  int64_t bytes() const;  // of what was handed over

 private:
  // Calls body(part of the gradient, its begin) for what of `parts` was not handed over, in order.
  template <class Body>
  void ForRest(absl::Span<const GradientRange> parts, const Body& body);
  absl::Span<const GradientRange> parts() const;

  Optimizer* optimizer_ = nullptr;
  double weight_ = 1;
  Tensor* parameters_ = nullptr;
  Tensor* gradient_ = nullptr;
  int64_t bytes_ = 0;
  const std::vector<GradientRange>* parts_ = nullptr;
  GradientRange all_;
  struct Taken {
    int64_t begin, end;
    double squares;
  };
  std::mutex mutex_;          // of the next
  std::vector<Taken> taken_;  // in the order in which they came, or ascending
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_FUSED_STEP_H_
