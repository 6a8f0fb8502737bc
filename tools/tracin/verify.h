// Compares products of gradients with their definition: one backward pass of LibTorch for each example.

#ifndef RUTILE_TOOLS_TRACIN_VERIFY_H_
#define RUTILE_TOOLS_TRACIN_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/gradient_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// How many pairs to compare, and the tolerance.
struct VerifyOptions {
  int64_t pairs = 0;  // random pairs at each checkpoint
  uint64_t seed = 0;
  // Allowed error relative to the lengths of both gradients; a gradient shorter than the root mean square of those
  // drawn counts as that long.
  double tolerance = 0;
};

// Compares <g, g'> of random pairs of train x tests, and |g|^2; without tests only |g|^2. preconditioner: [P], or no
// elements. Returns a summary for the user. FAILED_PRECONDITION naming the pair that differs most if it exceeds the
// tolerance; the errors of the products. Leaves `products` without tests.
absl::StatusOr<std::string> VerifyProducts(absl::Span<const int64_t> train, absl::Span<const int64_t> tests,
                                           const std::vector<ProductPart>& parts, const Tensor& preconditioner,
                                           const VerifyOptions& options, GradientProducts* products);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_VERIFY_H_
