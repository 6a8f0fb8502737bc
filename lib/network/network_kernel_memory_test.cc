// Checks that NetworkKernel allocates nothing in a step.

#include <malloc.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_kernel_testing.h"
#include "lib/network/network_shape.h"

namespace rutile {
namespace {

template <typename T>
class NetworkKernelMemoryTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(NetworkKernelMemoryTest, Types);

TYPED_TEST(NetworkKernelMemoryTest, AllocatesNothingWithinWhatIsReserved) {
  using T = TypeParam;
  const NetworkShape shape = {3, 20, {16, 16}, Activation::kTanh};
  for (const KernelPlan& plan : {KernelPlan(), KernelPlan{16, GradientForm::kAuto, NetworkAlgorithm::kFused},
                                 KernelPlan{100, GradientForm::kAuto, NetworkAlgorithm::kGemm}}) {
    NetworkKernel<T> kernel(shape);
    kernel.SetPlan(plan);
    kernel.Reserve({300, 600, 40}, /*second_order=*/true);
    for (const std::vector<int64_t>& atoms :
         {std::vector<int64_t>{1, 0, 0}, {300, 600, 40}, {0, 600, 1}, {17, 0, 33}, {0, 0, 0}}) {
      const KernelExample<T> e = MakeKernelExample<T>(shape, atoms, 32);
      std::vector<double> sums(32);
      std::vector<T> gradients(e.parameters.size()), x_gradients(e.x.size());
      const size_t before = mallinfo2().uordblks;
      kernel.Evaluate(e.parameters, e.rows(), absl::MakeSpan(sums));
      kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
      kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients));
      kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
      kernel.AddEnergyAndTangentGradients(e.parameters, e.rows(), e.slopes, e.tangents, absl::MakeSpan(gradients));
      EXPECT_EQ(mallinfo2().uordblks, before);
    }
  }
}

TYPED_TEST(NetworkKernelMemoryTest, AllocatesNothingOnceBatchesHaveBeenSeen) {
  using T = TypeParam;
  const KernelExample<T> e = MakeKernelExample<T>({2, 20, {16, 16}, Activation::kTanh}, {300, 600}, 32);
  const KernelExample<T> smaller = MakeKernelExample<T>({2, 20, {16, 16}, Activation::kTanh}, {100, 30}, 32);
  ThreadPool pool(2);
  for (const int form : {0, 1, 2, 3, 4, 5}) {
    NetworkKernel<T> kernel(e.shape, form % 2 == 0 ? nullptr : &pool);
    if (form / 2 == 1) kernel.SetPlan({64, GradientForm::kAuto, NetworkAlgorithm::kGemm});
    if (form / 2 == 2 && sizeof(T) == 4) kernel.SetRounding(true);
    std::vector<double> sums(32);
    std::vector<T> gradients(e.parameters.size()), x_gradients(e.x.size());
    const auto step = [&](const KernelExample<T>& example) {
      kernel.Evaluate(example.parameters, example.rows(), absl::MakeSpan(sums));
      kernel.Forward(example.parameters, example.rows(), absl::MakeSpan(sums));
      kernel.Backward(example.parameters, example.rows(), example.slopes, absl::MakeSpan(gradients));
      kernel.ForwardWithInputGradients(example.parameters, example.rows(), absl::MakeSpan(sums),
                                       absl::MakeSpan(x_gradients).first(example.x.size()));
      kernel.AddEnergyGradients(example.parameters, example.rows(), example.slopes, absl::MakeSpan(gradients));
      kernel.AddTangentGradients(example.parameters, example.rows(), example.tangents, absl::MakeSpan(gradients));
    };
    step(e);
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 3; ++i) {
      step(smaller);
      step(e);
    }
    EXPECT_EQ(mallinfo2().uordblks, before);
  }
}

}  // namespace
}  // namespace rutile
