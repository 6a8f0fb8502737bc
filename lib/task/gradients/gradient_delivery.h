// Says where a call leaves the gradient that it computes: a large gradient is better overwritten than added to, summed
// over processes while the rest of it is computed, or used up at once.

#ifndef RUTILE_LIB_TASK_GRADIENTS_GRADIENT_DELIVERY_H_
#define RUTILE_LIB_TASK_GRADIENTS_GRADIENT_DELIVERY_H_

#include "lib/base/logging.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/gradients/gradient_sink.h"

namespace rutile {

// One of the ways to deliver a gradient. An observer and a sink must live until the call returns.
class GradientDelivery {
 public:
  // Adds to the values that the gradient has. If `observer` is not null, it is told of finished parts.
  static GradientDelivery Add(GradientObserver* observer = nullptr) {
    return {/*overwrites=*/false, observer, nullptr};
  }

  // Overwrites the gradient, whose contents are unspecified before the call (also NaN), with what Add would have added
  // to zeros. `observer` is as in Add.
  static GradientDelivery Overwrite(GradientObserver* observer = nullptr) {
    return {/*overwrites=*/true, observer, nullptr};
  }

  // Overwrites the gradient, except for the finished parts that the sink takes, which are never written to it. Nobody
  // observes: what a sink has used cannot be summed over processes any more.
  static GradientDelivery Stream(GradientSink* sink) {
    CHECK(sink != nullptr);
    return {/*overwrites=*/true, nullptr, sink};
  }

  bool overwrites() const { return overwrites_; }
  GradientObserver* observer() const { return observer_; }  // null: none
  GradientSink* sink() const { return sink_; }              // null: none

 private:
  GradientDelivery(bool overwrites, GradientObserver* observer, GradientSink* sink)
      : overwrites_(overwrites), observer_(observer), sink_(sink) {}

  bool overwrites_;
  GradientObserver* observer_;
  GradientSink* sink_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENTS_GRADIENT_DELIVERY_H_
