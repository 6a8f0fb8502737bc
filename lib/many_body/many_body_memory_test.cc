// Checks that ManyBodyKernel allocates nothing in a step.

#include <malloc.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"
#include "lib/many_body/many_body_kernel.h"
#include "lib/many_body/many_body_testing.h"

namespace rutile {
namespace {

template <typename T>
class ManyBodyMemoryTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ManyBodyMemoryTest, Types);

template <typename T>
void Step(const ManyBodyExample<T>& e, ManyBodyKernel<T>* kernel, std::vector<double>* sums, std::vector<T>* gradients,
          std::vector<T>* x_gradients) {
  kernel->Evaluate(e.parameters, e.rows(), absl::MakeSpan(*sums));
  kernel->Forward(e.parameters, e.rows(), absl::MakeSpan(*sums));
  kernel->Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(*gradients));
  kernel->ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(*sums),
                                    absl::MakeSpan(*x_gradients).first(e.x.size()));
  kernel->AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(*gradients));
  kernel->AddEnergyAndTangentGradients(e.parameters, e.rows(), e.slopes, e.tangents, absl::MakeSpan(*gradients));
}

TYPED_TEST(ManyBodyMemoryTest, AllocatesNothingWithinWhatIsReserved) {
  using T = TypeParam;
  const NetworkShape shape = ManyBodyShape(3, 16, 2, 2, {8});
  ManyBodyKernel<T> kernel(shape);
  kernel.Reserve({100, 200, 40}, /*second_order=*/true);
  for (const std::vector<int64_t>& atoms :
       {std::vector<int64_t>{1, 0, 0}, {100, 200, 40}, {0, 200, 1}, {17, 0, 33}, {0, 0, 0}}) {
    const ManyBodyExample<T> e = MakeManyBodyExample<T>(shape, atoms, 32);
    std::vector<double> sums(32);
    std::vector<T> gradients(e.parameters.size()), x_gradients(e.x.size());
    const size_t before = mallinfo2().uordblks;
    Step(e, &kernel, &sums, &gradients, &x_gradients);
    EXPECT_EQ(mallinfo2().uordblks, before);
  }
}

TYPED_TEST(ManyBodyMemoryTest, AllocatesNothingOnceBatchesHaveBeenSeen) {
  using T = TypeParam;
  const NetworkShape shape = ManyBodyShape(2, 16, 2, 2, {8});
  const ManyBodyExample<T> large = MakeManyBodyExample<T>(shape, {300, 200}, 32);
  const ManyBodyExample<T> small = MakeManyBodyExample<T>(shape, {100, 30}, 32);
  ThreadPool pool(2);
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    ManyBodyKernel<T> kernel(shape, threads);
    std::vector<double> sums(32);
    std::vector<T> gradients(large.parameters.size()), x_gradients(large.x.size());
    Step(large, &kernel, &sums, &gradients, &x_gradients);
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 3; ++i) {
      Step(small, &kernel, &sums, &gradients, &x_gradients);
      Step(large, &kernel, &sums, &gradients, &x_gradients);
    }
    EXPECT_EQ(mallinfo2().uordblks, before);
  }
}

}  // namespace
}  // namespace rutile
