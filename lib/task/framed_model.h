// What a training set fixes before the first step, and without which parameters mean nothing: scales of inputs and
// outputs.

#ifndef RUTILE_LIB_TASK_FRAMED_MODEL_H_
#define RUTILE_LIB_TASK_FRAMED_MODEL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A frame as checkpoints hold it: everything of a model but its parameters.
struct ModelFrame {
  std::string text;  // JSON; "" if there is no frame
  NamedTensors tensors;

  bool empty() const { return text.empty(); }
};

// A task whose model has a frame, which a resumed run may have otherwise: the run had other data, filters or weights.
class FramedModel {
 public:
  virtual ~FramedModel() = default;

  virtual ModelFrame Frame() const = 0;
  // True if the frame may depend on an option of Task::ResumeConfig or of TrainerOptions::config.
  virtual bool FrameDependsOn(absl::string_view option) const = 0;
  // Replaces *parameters [P], which were trained in the frame `then`, by those with which this task's model predicts
  // the same, to rounding. The map is affine, so that it may be applied to averages of parameters as well.
  // INVALID_ARGUMENT saying what differs if there are no such parameters, or if `then` is no frame of such a model;
  // FAILED_PRECONDITION if a new run cannot begin from that model either.
  virtual absl::Status CarryOver(const ModelFrame& then, Tensor* parameters) const = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_FRAMED_MODEL_H_
