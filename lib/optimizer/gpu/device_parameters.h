// Parameters of a model in the memory of a GPU, with their gradient, and the optimizer that moves them there.
//
// The host's tensors are where everything comes from and goes back to: each of the device's copies is known by the
// host's memory, is made when it is first used, and is what counts from then on, until Gather copies it back. A step is
// described by the host's optimizer (step_visitor.h); device_performer.h brings both together.
//
// nvcc compiles this file, so it uses the standard library alone.

#ifndef RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_H_
#define RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/optimizer/optimizer_steps.h"

namespace rutile {

// The parameters [begin, begin + size), whose state is the elements from `at` on of the optimizer's tensors.
struct DeviceRange {
  int64_t begin = 0;
  int64_t at = 0;
  int64_t size = 0;
  bool decays = true;  // false: weight decay does not apply
};

inline bool operator==(const DeviceRange& a, const DeviceRange& b) {
  return a.begin == b.begin && a.at == b.at && a.size == b.size && a.decays == b.decays;
}

// P parameters, gradient and state of one type, fp32 or fp64. Pointers in arguments are to the host's memory: arrays of
// that type, which must stay where they are until Forget. One thread at a time may use an object.
//
// All calls but those that say so return "" or what went wrong; after an error nothing is done any more, and all calls
// return the same. They return before the device is done, unless they say that they wait.
class DeviceParameters {
 public:
  virtual ~DeviceParameters() = default;

  virtual int64_t size() const = 0;     // P
  virtual int value_bytes() const = 0;  // 4 for fp32, 8 for fp64

  // Must be called before each step. parameters: [P], always the same; they are copied to the device the first time,
  // and again after Forget.
  virtual std::string Begin(void* parameters) = 0;
  // Sets the gradient to 0.
  virtual std::string ClearGradient() = 0;
  // Copies the gradient [P] to the host as the task's kernels have left it, and waits.
  virtual std::string FetchGradient(void* gradient) = 0;

  // Completes the gradient: it is `weight` times what the task's kernels have written, each product rounded, and 0 for
  // a weight of 0, whatever they have written. Sets *norm to its Euclidean norm, summed in fp64 in an order that
  // depends on P alone, and not finite if an element is not; waits.
  virtual std::string Combine(double weight, double* norm) = 0;
  // Clips the gradient of the last Combine, as ClipGradient and ClipGradientByValue of lib/train/step/gradient_step.h
  // do. limit <= 0: it is not clipped.
  virtual void ClipByNorm(double norm, double limit) = 0;
  virtual void ClipByValue(double limit) = 0;

  // Perform one step with the gradient, as Combine and clipping have left it, by the formulas of optimizer_steps.h and
  // with the rounding of a CPU that has fused multiply-adds. The ranges do not overlap; the state has as many elements
  // as they have together. Null: the state does not exist.
  virtual std::string Adam(const AdamStep& step, const std::vector<DeviceRange>& ranges, void* m, void* v, void* h) = 0;
  virtual std::string Sgd(const SgdStep& step, const std::vector<DeviceRange>& ranges, void* b) = 0;
  virtual std::string Rmsprop(const RmspropStep& step, const std::vector<DeviceRange>& ranges, void* v, void* m,
                              void* b) = 0;
  virtual std::string Adagrad(const AdagradStep& step, const std::vector<DeviceRange>& ranges, void* s) = 0;
  // first: z starts as a copy of the parameters.
  virtual std::string ScheduleFree(const ScheduleFreeStep& step, bool first, const std::vector<DeviceRange>& ranges,
                                   void* v, void* z) = 0;

  // Moves the average [P] toward the parameters: average += share (parameters - average); a copy for a share of 1.
  virtual std::string UpdateAverage(double share, void* average) = 0;
  // Replaces the parameters [begin, begin + size) by those of the host, `parameters` [P]: buffers, which the host sets.
  virtual std::string CopyBuffer(const void* parameters, int64_t begin, int64_t size) = 0;

  // Copies everything back to where it came from, and waits. The copies on the device remain valid.
  virtual std::string Gather() = 0;
  // Must be called after the host's arrays have changed, but for buffers: all copies are made anew when they are used.
  virtual void Forget() = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_H_
