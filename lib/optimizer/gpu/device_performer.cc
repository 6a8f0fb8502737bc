#include "lib/optimizer/gpu/device_performer.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/logging.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/optimizer/step_visitor.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

class Performer : public StepVisitor {
 public:
  explicit Performer(DeviceParameters* device) : device_(*device) {}

  void Adam(const AdamStep& step, Ranges ranges, const Tensor& m, const Tensor& v, const Tensor& h) override {
    Keep(device_.Adam(step, Of(ranges), State(ranges, m), State(ranges, v), State(ranges, h)));
  }
  void Sgd(const SgdStep& step, Ranges ranges, const Tensor& b) override {
    Keep(device_.Sgd(step, Of(ranges), State(ranges, b)));
  }
  void Rmsprop(const RmspropStep& step, Ranges ranges, const Tensor& v, const Tensor& m, const Tensor& b) override {
    Keep(device_.Rmsprop(step, Of(ranges), State(ranges, v), State(ranges, m), State(ranges, b)));
  }
  void Adagrad(const AdagradStep& step, Ranges ranges, const Tensor& s) override {
    Keep(device_.Adagrad(step, Of(ranges), State(ranges, s)));
  }
  void ScheduleFree(const ScheduleFreeStep& step, bool first, Ranges ranges, const Tensor& v,
                    const Tensor& z) override {
    Keep(device_.ScheduleFree(step, first, Of(ranges), State(ranges, v), State(ranges, z)));
  }

  const std::string& error() const { return error_; }

 private:
  std::vector<DeviceRange> Of(Ranges ranges) const {
    std::vector<DeviceRange> result;
    ForEachRange(ranges, [&](const ParameterRange& range, int64_t at) {
      CHECK(range.begin >= 0 && range.begin + range.size <= device_.size());
      result.push_back({range.begin, at, range.size, range.decays});
    });
    return result;
  }

  // The device writes to the optimizer's own memory, which the tensor shares.
  void* State(Ranges ranges, Tensor tensor) const {
    if (tensor.num_elements() == 0) return nullptr;
    CHECK_EQ(tensor.num_elements(), TotalSize(ranges));
    CHECK_EQ(ByteSize(tensor.dtype()), device_.value_bytes());
    return tensor.mutable_data();
  }

  void Keep(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

  DeviceParameters& device_;
  std::string error_;
};

}  // namespace

absl::Status PerformStep(const Optimizer& optimizer, DeviceParameters* device) {
  Performer performer(device);
  optimizer.VisitStep(&performer);
  return performer.error().empty() ? absl::OkStatus() : absl::InternalError(performer.error());
}

}  // namespace rutile
