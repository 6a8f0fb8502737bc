#include "lib/train/step/torch_device_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/step_visitor.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/task/torch/torch_guard.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

// The device's copies of the host's tensors, each of which is known by its memory.
class Copies {
 public:
  explicit Copies(const std::string& device) : device_(device) {}

  // Returns the copy, which is made when it is asked for first.
  at::Tensor Of(const Tensor& host) {
    CHECK(host.num_elements() > 0);
    for (const Pair& pair : pairs_) {
      if (pair.host.data() == host.data()) return pair.copy;
    }
    const at::Tensor copy = ToTorch(host, device_);
    pairs_.push_back({host, device_.is_cpu() ? copy.clone() : copy});
    return pairs_.back().copy;
  }
  void Fetch() {
    for (const Pair& pair : pairs_) ToTorch(pair.host).copy_(ToHost(pair.copy));
  }
  void Clear() { pairs_.clear(); }
  const at::Device& device() const { return device_; }

 private:
  struct Pair {
    Tensor host;  // shares the host's memory
    at::Tensor copy;
  };
  const at::Device device_;
  std::vector<Pair> pairs_;
};

// Performs steps with the operations of optimizer_kernel.cc, one by one. LibTorch rounds each number that multiplies a
// tensor to the tensor's type first, as the kernels do.
class Performer : public StepVisitor {
 public:
  Performer(Copies* copies, const at::Tensor& parameters, const at::Tensor& gradient)
      : copies_(*copies), parameters_(parameters), gradient_(gradient) {}

  void Adam(const AdamStep& step, Ranges ranges, const Tensor& m, const Tensor& v, const Tensor& h) override {
    ForEachRange(ranges, [&](const ParameterRange& range, int64_t at) {
      at::Tensor p = Parameters(range), first = State(m, range, at), second = State(v, range, at);
      if (range.decays && step.keep != 1) p.mul_(step.keep);
      const at::Tensor g = Gradient(range, step.l2, p);
      first.mul_(step.beta1).add_(g, 1 - step.beta1);
      second.mul_(step.beta2).addcmul_(g, g, 1 - step.beta2);
      at::Tensor divisor = second;
      if (h.num_elements() > 0) {
        divisor = State(h, range, at);
        at::maximum_out(divisor, divisor, second);
      }
      p.addcdiv_(first, divisor.sqrt().div_(step.root_correction2).add_(step.epsilon), -step.step_size);
    });
  }

  void Sgd(const SgdStep& step, Ranges ranges, const Tensor& b) override {
    ForEachRange(ranges, [&](const ParameterRange& range, int64_t at) {
      at::Tensor p = Parameters(range), direction = Gradient(range, step.l2, p);
      if (b.num_elements() > 0) {
        at::Tensor buffer = State(b, range, at);
        buffer.mul_(step.momentum).add_(direction, step.gain);
        direction = step.nesterov ? direction.add(buffer, step.momentum) : buffer;
      }
      p.sub_(direction, step.learning_rate);
    });
  }

  void Rmsprop(const RmspropStep& step, Ranges ranges, const Tensor& v, const Tensor& m, const Tensor& b) override {
    ForEachRange(ranges, [&](const ParameterRange& range, int64_t at) {
      at::Tensor p = Parameters(range), variance = State(v, range, at);
      const at::Tensor g = Gradient(range, step.l2, p);
      variance.mul_(step.alpha).addcmul_(g, g, 1 - step.alpha);
      if (m.num_elements() > 0) {
        at::Tensor mean = State(m, range, at);
        mean.mul_(step.alpha).add_(g, 1 - step.alpha);
        variance = variance.addcmul(mean, mean, -1).clamp_min_(0);
      }
      at::Tensor direction = g.div(variance.sqrt().add_(step.epsilon));
      if (b.num_elements() > 0) direction = State(b, range, at).mul_(step.momentum).add_(direction);
      p.sub_(direction, step.learning_rate);
    });
  }

  void Adagrad(const AdagradStep& step, Ranges ranges, const Tensor& s) override {
    ForEachRange(ranges, [&](const ParameterRange& range, int64_t at) {
      at::Tensor p = Parameters(range), sum = State(s, range, at);
      const at::Tensor g = Gradient(range, step.l2, p);
      sum.addcmul_(g, g);
      p.addcdiv_(g, sum.sqrt().add_(step.epsilon), -step.step_size);
    });
  }

  void ScheduleFree(const ScheduleFreeStep& step, bool first, Ranges ranges, const Tensor& v,
                    const Tensor& z) override {
    ForEachRange(ranges, [&](const ParameterRange& range, int64_t at) {
      at::Tensor y = Parameters(range), base = State(z, range, at), second = State(v, range, at);
      if (first) base.copy_(y);
      const at::Tensor g = Gradient(range, 0, y);
      second.mul_(step.beta2).addcmul_(g, g, 1 - step.beta2);
      at::Tensor direction = g.div(second.sqrt().div_(step.root_correction2).add_(step.epsilon));
      if (range.decays && step.decay != 0) direction.add_(y, step.decay);
      y.add_(base.sub(y), step.share).sub_(direction, step.y_rate);
      base.sub_(direction, step.learning_rate);
    });
  }

 private:
  at::Tensor Parameters(const ParameterRange& range) const { return parameters_.narrow(0, range.begin, range.size); }
  at::Tensor State(const Tensor& host, const ParameterRange& range, int64_t at) const {
    return copies_.Of(host).narrow(0, at, range.size);
  }
  // Returns the gradient, plus the parameters times l2 where they decay.
  at::Tensor Gradient(const ParameterRange& range, double l2, const at::Tensor& parameters) const {
    const at::Tensor gradient = gradient_.narrow(0, range.begin, range.size);
    return range.decays && l2 != 0 ? gradient.add(parameters, l2) : gradient;
  }

  Copies& copies_;
  const at::Tensor& parameters_;
  const at::Tensor& gradient_;
};

}  // namespace

class TorchDeviceStep::Impl {
 public:
  Impl(const Task& task, const EagerOptions& options) : eager(task, options, /*staged=*/true), copies(options.device) {}

  EagerGradients eager;
  Copies copies;
  at::Tensor parameters;
  at::Tensor gradient;
};

TorchDeviceStep::TorchDeviceStep(const Task& task, const EagerOptions& options)
    : impl_(std::make_unique<Impl>(task, options)) {}

TorchDeviceStep::~TorchDeviceStep() = default;

absl::Status TorchDeviceStep::Begin(const Tensor& parameters) {
  return TorchGuard([&] { impl_->parameters = impl_->copies.Of(parameters); });
}

absl::Status TorchDeviceStep::Add(const NamedTensors& batch, double scale, TermSums* sums) {
  return impl_->eager.AddOnDevice(impl_->parameters, batch, scale, sums);
}

absl::Status TorchDeviceStep::FetchSums(TermSums* sums) { return impl_->eager.FetchSums(sums); }

std::vector<at::Tensor>* TorchDeviceStep::gradients() { return impl_->eager.device_gradients(); }

absl::StatusOr<double> TorchDeviceStep::Combine(absl::Span<const double> weight) {
  std::vector<at::Tensor>& gradients = *impl_->eager.device_gradients();
  CHECK_EQ(weight.size(), gradients.size());
  double norm = 0;
  RETURN_IF_ERROR(TorchGuard([&] {
    const at::NoGradGuard no_gradients;
    at::Tensor& sum = impl_->gradient;
    sum.reset();
    for (size_t t = 0; t < weight.size(); ++t) {
      const at::Tensor part = std::exchange(gradients[t], at::Tensor());
      if (weight[t] == 0 || !part.defined()) continue;
      sum = sum.defined() ? sum.add_(part, weight[t]) : part.mul(weight[t]);
    }
    if (!sum.defined()) sum = at::zeros_like(impl_->parameters);
    norm = at::linalg_vector_norm(sum, 2, at::OptionalIntArrayRef(), /*keepdim=*/false, at::kDouble).item<double>();
  }));
  return norm;
}

absl::Status TorchDeviceStep::Step(double learning_rate, double norm, const TrainerOptions& options,
                                   Optimizer* optimizer) {
  return TorchGuard([&] {
    const at::NoGradGuard no_gradients;
    const double limit = options.gradient_clip_val;
    if (options.gradient_clip_algorithm == GradientClip::kValue) {
      if (limit > 0) impl_->gradient.clamp_(-limit, limit);
    } else if (limit > 0 && norm > limit) {
      impl_->gradient.mul_(limit / norm);
    }
    optimizer->BeginStep(learning_rate);
    Performer performer(&impl_->copies, impl_->parameters, impl_->gradient);
    optimizer->VisitStep(&performer);
    impl_->gradient.reset();
  });
}

absl::Status TorchDeviceStep::CopyBuffers(const Tensor& parameters, absl::Span<const ParameterSlice> slices) {
  return TorchGuard([&] {
    const at::NoGradGuard no_gradients;
    for (const ParameterSlice& slice : slices) {
      if (!slice.buffer) continue;
      const Tensor buffer = parameters.Slice(slice.offset, {slice.num_elements()});
      impl_->parameters.narrow(0, slice.offset, slice.num_elements()).copy_(ToTorch(buffer, impl_->copies.device()));
    }
  });
}

absl::Status TorchDeviceStep::UpdateAverage(int64_t step, Ema* ema) {
  const std::optional<double> share = ema->CountUpdate(step);
  if (!share) return absl::OkStatus();
  return TorchGuard([&] {
    const at::NoGradGuard no_gradients;
    at::Tensor average = impl_->copies.Of(*ema->parameters());
    if (*share == 1) {
      average.copy_(impl_->parameters);
    } else {
      average.add_(impl_->parameters.sub(average), *share);
    }
  });
}

absl::Status TorchDeviceStep::Gather() {
  return TorchGuard([&] {
    const at::NoGradGuard no_gradients;
    impl_->copies.Fetch();
  });
}

void TorchDeviceStep::Forget() { impl_->copies.Clear(); }

std::unique_ptr<DeviceStep> MakeTorchDeviceStep(const Task& task, const EagerOptions& options) {
  return std::make_unique<TorchDeviceStep>(task, options);
}

}  // namespace rutile
