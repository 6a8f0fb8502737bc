// Matrix products as embeddings are trained with, for PeakOptions::matmul: their rate is the roof of stages that
// consist of them.

#ifndef RUTILE_TOOLS_PROFILE_PRODUCT_ON_ALL_PROCESSORS_H_
#define RUTILE_TOOLS_PROFILE_PRODUCT_ON_ALL_PROCESSORS_H_

#include <functional>

namespace rutile {

// Returns multiply(n, bf16), which multiplies two n x n matrices with num_threads threads, in fp32 or with factors
// rounded to bfloat16. It returns false and does nothing on a machine without vectors (AVX2) or without instructions
// for bfloat16. It is called by one thread at a time; the matrices are reused by the next call.
std::function<bool(int n, bool bf16)> ProductOnAllProcessors(int num_threads);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PRODUCT_ON_ALL_PROCESSORS_H_
