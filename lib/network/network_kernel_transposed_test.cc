// Checks that features that were transposed once give the bits of features that are read where they lie.

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "lib/machine/parallel_for.h"
#include "lib/machine/simd.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/kernels/network_fused.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_kernel_testing.h"
#include "lib/network/network_shape.h"

namespace rutile {
namespace {

template <typename T>
void ExpectTheSameBits(const NetworkShape& shape, const std::vector<int64_t>& atoms, ThreadPool* pool,
                       int block_atoms) {
  const KernelExample<T> e = MakeKernelExample<T>(shape, atoms, 4);
  NetworkKernel<T> kernel(shape, pool);
  KernelPlan plan;
  plan.block_atoms = block_atoms;
  kernel.SetPlan(plan);
  AtomRows<T> rows = e.rows();
  std::vector<double> sums(4), transposed_sums(4, 99.0);
  std::vector<T> energies(e.num_atoms()), transposed_energies(e.num_atoms());
  kernel.Evaluate(e.parameters, rows, absl::MakeSpan(sums), absl::MakeSpan(energies));
  // The memory starts as garbage, which must not matter.
  const int64_t size = kernel.TransposedSize(rows), line = 64 / sizeof(T);
  std::vector<T> memory(size + line, std::numeric_limits<T>::quiet_NaN());
  const int64_t place = reinterpret_cast<uintptr_t>(memory.data()) / sizeof(T) % line;
  T* const transposed = memory.data() + (line - place) % line;
  kernel.Transpose(rows, transposed);
  std::vector<int64_t> row(e.num_atoms(), int64_t{1} << 60);  // garbage: Evaluate does not read it
  rows.row = row;
  rows.transposed = transposed;
  for (int again = 0; again < 2; ++again) {
    kernel.Evaluate(e.parameters, rows, absl::MakeSpan(transposed_sums), absl::MakeSpan(transposed_energies));
    EXPECT_EQ(sums, transposed_sums);
    EXPECT_EQ(energies, transposed_energies);
  }
}

TEST(NetworkKernelTransposedTest, TheSameBitsOnEveryTarget) {
  ThreadPool pool(2);
  for (const std::vector<int64_t>& atoms : std::vector<std::vector<int64_t>>{{1}, {17, 9}, {0, 140, 3}, {128, 129}}) {
    for (const Activation activation : {Activation::kTanh, Activation::kTwist}) {
      const NetworkShape shape = {static_cast<int>(atoms.size()), 7, {5, 16}, activation};
      const NetworkShape linear = {static_cast<int>(atoms.size()), 33, {}, activation};
      for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        hwy::SetSupportedTargetsForTest(target);
        for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
          for (const int block_atoms : {kBlockAtoms, 48, 1}) {
            ExpectTheSameBits<float>(shape, atoms, threads, block_atoms);
            ExpectTheSameBits<double>(shape, atoms, threads, block_atoms);
            ExpectTheSameBits<float>(linear, atoms, threads, block_atoms);
          }
        }
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

}  // namespace
}  // namespace rutile
