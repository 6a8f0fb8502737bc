// The matrix products that embeddings are trained with, for PeakOptions::matmul: what they reach is the roof of stages
// that consist of them.

#ifndef RUTILE_TOOLS_PROFILE_PRODUCT_ON_ALL_PROCESSORS_H_
#define RUTILE_TOOLS_PROFILE_PRODUCT_ON_ALL_PROCESSORS_H_

#include <functional>

namespace rutile {

// multiply(n, bf16) multiplies two n x n matrices, in fp32 or with factors rounded to bfloat16, with that many threads;
// false, and nothing is done, where this machine has no vectors (AVX2) or no instructions for bfloat16. One call at a
// time; the matrices are kept from one to the next.
std::function<bool(int n, bool bf16)> ProductOnAllProcessors(int num_threads);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PRODUCT_ON_ALL_PROCESSORS_H_
