#include "tools/tracin/verify.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/interrupt.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// <a, M b> over the parameters that count.
double Dot(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& weight) {
  double sum = 0;
  for (size_t p = 0; p < a.size(); ++p) sum += a[p] * b[p] * weight[p];
  return sum;
}

// [P] 0 where a parameter does not count, else the preconditioner or 1.
std::vector<double> Weights(const std::vector<ParameterSlice>& slices, const std::vector<ProductPart>& parts,
                            const Tensor& preconditioner) {
  int64_t size = 0;
  for (const ParameterSlice& slice : slices) size = std::max(size, slice.offset + slice.num_elements());
  std::vector<double> weights(size, 0.0);
  std::vector<double> factors(size, 1.0);
  if (preconditioner.num_elements() > 0) factors = preconditioner.ToDoubles();
  for (const ProductPart& part : parts) {
    for (const int s : part.slices) {
      const int64_t begin = slices[s].offset;
      std::copy_n(factors.begin() + begin, slices[s].num_elements(), weights.begin() + begin);
    }
  }
  return weights;
}

double SumOfParts(const std::vector<double>& values, size_t parts) {
  double sum = 0;
  for (size_t p = 0; p < parts; ++p) sum += values[p];
  return sum;
}

struct Worst {
  double error = -1;
  std::string what;
  void See(double error_here, const std::string& what_here) {
    if (std::isnan(error)) return;  // nothing is worse
    if (!(error_here <= error)) *this = {error_here, what_here};
  }
};

// 0 where both are 0.
double Relative(double found, double expected, double scale) {
  const double difference = std::abs(found - expected);
  return difference == 0 ? 0 : difference / scale;
}

}  // namespace

absl::StatusOr<std::string> VerifyProducts(absl::Span<const int64_t> train, absl::Span<const int64_t> tests,
                                           const std::vector<ProductPart>& parts, const Tensor& preconditioner,
                                           const VerifyOptions& options, GradientProducts* products) {
  const std::vector<double> weights = Weights(products->slices(), parts, preconditioner);
  std::vector<double> g(weights.size()), h(weights.size());
  RandomStream random(options.seed, "verify");
  ProductTile tile;
  Worst worst;
  for (int64_t pair = 0; pair < options.pairs; ++pair) {
    RETURN_IF_ERROR(CheckInterrupt());
    const int64_t i = train[random.Below(train.size())];
    RETURN_IF_ERROR(products->ReferenceTrainGradient(i, absl::MakeSpan(g)));
    const double square = Dot(g, g, weights);
    double dot = 0, test_square = 0;
    std::vector<int64_t> held;
    if (!tests.empty()) {
      held.push_back(tests[random.Below(tests.size())]);
      RETURN_IF_ERROR(products->ReferenceTestGradient(held[0], absl::MakeSpan(h)));
      dot = Dot(g, h, weights);
      test_square = Dot(h, h, weights);
    }
    RETURN_IF_ERROR(products->HoldTests(held));
    RETURN_IF_ERROR(products->Products({i}, /*squares=*/true, &tile));
    worst.See(Relative(SumOfParts(tile.train_square, parts.size()), square, square),
              absl::StrFormat("|g|^2 of training example %d is %.9g, should be %.9g", i,
                              SumOfParts(tile.train_square, parts.size()), square));
    if (tests.empty()) continue;
    const double found = SumOfParts(tile.product, parts.size());
    worst.See(Relative(found, dot, std::sqrt(square * test_square)),
              absl::StrFormat("the product of training example %d and test %d is %.9g, should be %.9g", i, held[0],
                              found, dot));
    worst.See(Relative(SumOfParts(products->HeldSquares(), parts.size()), test_square, test_square),
              absl::StrFormat("|g|^2 of test %d is %.9g, should be %.9g", held[0],
                              SumOfParts(products->HeldSquares(), parts.size()), test_square));
  }
  RETURN_IF_ERROR(products->HoldTests({}));
  if (!(worst.error <= options.tolerance)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("verify: %s: off by %.2g of the gradients' lengths, more than "
                        "%.2g",
                        worst.what, worst.error, options.tolerance));
  }
  return absl::StrFormat("%d pairs agree with one backward pass each to %.2g of the gradients' lengths (limit %.2g)",
                         options.pairs, worst.error, options.tolerance);
}

}  // namespace rutile
