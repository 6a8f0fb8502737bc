// An optimizer step fused into the gradient pass. Finished parts of the gradient (lib/task/gradients/gradient_sink.h)
// update their parameters at once, while both are in the processor's cache; the rest follows when the gradient is
// complete.

#ifndef RUTILE_LIB_OPTIMIZER_FUSED_STEP_H_
#define RUTILE_LIB_OPTIMIZER_FUSED_STEP_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/types/span.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/gradients/gradient_sink.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Parameters and optimizer state get the same bits as from Optimizer::Step with the whole gradient.
//
// A value that is not finite may appear last, when most parameters are already updated. So the old parameters of each
// part are first saved in the gradient's memory (which is unused there, because the task passes that part to the sink),
// and Undo restores them bit for bit. The optimizer's averages are not restored: such a step ends the run, and no
// checkpoint of it is written.
//
// Example, for a task with a GradientStream:
//   FusedStep step;
//   step.Begin(&optimizer, learning_rate, weight, &parameters, &gradient, bytes_per_number);
//   absl::Status status =
//       task.stream()->StreamGradients(parameters, batch, GradientDelivery::Stream(&step), &gradient, &sums);
//   if (status.ok() && std::isfinite(step.Norm())) {
//     step.Finish();
//   } else {
//     step.Undo();
//   }
class FusedStep : public GradientSink {
 public:
  // Begins one step of `optimizer` with `weight` times the gradient. The task fills `gradient` [P] except for parts
  // that it passes to Take. bytes: memory traffic of updating one number, for profiles. All pointers must live until
  // Finish or Undo, one of which must follow. parts: ascending ranges to update; elsewhere nothing is updated and the
  // gradient is not read; nullptr: all parameters.
  void Begin(Optimizer* optimizer, double learning_rate, double weight, Tensor* parameters, Tensor* gradient,
             int64_t bytes, const std::vector<GradientRange>* parts = nullptr);
  void Take(int64_t begin, const Tensor& values) override;

  // Returns the Euclidean norm of `weight` times the whole gradient, summed part by part; call it when the task is
  // done. It is not finite if any component is not.
  double Norm();
  // Returns the sum of squares of `weight` times the gradient of the parts taken and of the remainder of `parts`.
  double Squares(absl::Span<const GradientRange> parts);
  // Updates the parameters whose gradient was not taken.
  void Finish();
  // Restores the parameters as they were before Begin.
  void Undo();

  double weight() const { return weight_; }
  int64_t bytes() const;  // memory traffic of the parts taken

 private:
  // Calls body(part of the gradient, its begin) for the ranges of `parts` that were not taken, in order.
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
  std::mutex mutex_;          // protects taken_
  std::vector<Taken> taken_;  // in order of arrival; ForRest sorts them
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_FUSED_STEP_H_
