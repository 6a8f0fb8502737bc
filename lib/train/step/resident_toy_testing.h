// The first term of the toy task, whose gradient stays on a device, here the host, where its parameters are, too
// (lib/task/gradients/resident_gradients.h). It has a buffer, as batch norms do.

#ifndef RUTILE_LIB_TRAIN_STEP_RESIDENT_TOY_TESTING_H_
#define RUTILE_LIB_TRAIN_STEP_RESIDENT_TOY_TESTING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/optimizer/gpu/device_parameters.h"
#include "lib/optimizer/gpu/device_parameters_testing.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_stream.h"
#include "lib/task/gradients/resident_gradients.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"

namespace rutile {

// Parameters are weight [F], bias and the buffer running_loss, which FinishStep moves toward the mean loss of the
// batches since the last step. In fp64.
class ResidentToy : public ToyTask, public ResidentGradients, public GradientStream {
 public:
  // resident: false for the same task without a device.
  ResidentToy(const ToyTaskOptions& options, bool resident);

  ResidentGradients* resident() override { return device_ ? this : nullptr; }
  DeviceParameters* parameters() override { return &device_->parameters; }
  absl::Status AddOnDevice(const NamedTensors& batch, bool overwrite) override;
  absl::Status FetchSums(TermSums* sums) override;

  // A stream, too, which must not be used where the device steps.
  GradientStream* stream() override { return device_ ? this : nullptr; }
  std::vector<GradientRange> EarlyGradients() const override { return {}; }
  absl::Status StreamGradients(const Tensor& parameters, const NamedTensors& batch, const GradientDelivery& delivery,
                               Tensor* gradient, TermSums* sums) override;

  std::vector<ParameterSlice> parameter_slices() const override;
  Tensor InitialParameters(uint64_t seed) const override;
  std::vector<LossTerm> terms() const override { return {{"value", "V^2"}}; }
  Loss CombineTerms(const TermSums& sums) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;
  void FinishStep(Tensor* parameters) override;
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;

  int on_device = 0;               // batches whose gradient stayed on the device
  int on_host = 0;                 // others
  int fails_after = -1;            // batches on the device after which the device fails
  bool infinite_gradient = false;  // of the next batch
 private:
  // Returns the gradient of the batch at the parameters, and adds to the sums.
  std::vector<double> Gradient(const Tensor& parameters, const NamedTensors& batch, TermSums* sums);

  const int64_t num_features_;
  std::optional<HostDevice<double>> device_;
  TermSums of_device_{1};  // not fetched yet
  double mean_loss_ = 0;   // of the batches since FinishStep
  int64_t batches_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_RESIDENT_TOY_TESTING_H_
