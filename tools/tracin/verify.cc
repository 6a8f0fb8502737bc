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

// Returns <a, M b> over the selected parameters.
double Dot(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& weight) {
  double sum = 0;
  for (size_t p = 0; p < a.size(); ++p) sum += a[p] * b[p] * weight[p];
  return sum;
}

// Returns [P] weights: 0 for parameters that do not count, else the preconditioner or 1.
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
    if (std::isnan(error)) return;  // NaN is the worst possible error
    if (!(error_here <= error)) *this = {error_here, what_here};
  }
};

// A computed product, its expected value, and the squares of its two gradients.
struct Comparison {
  double found = 0, expected = 0;
  double square = 0, other_square = 0;
  std::string what;

  // Returns 0 if both are equal. A gradient that nearly vanishes, of a label that is almost certain, is the small
  // difference of larger numbers, so its error is measured against the mean of the squares.
  double Error(double mean, double other_mean) const {
    const double difference = std::abs(found - expected);
    return difference == 0 ? 0 : difference / std::sqrt(std::max(square, mean) * std::max(other_square, other_mean));
  }
};

}  // namespace

absl::StatusOr<std::string> VerifyProducts(absl::Span<const int64_t> train, absl::Span<const int64_t> tests,
                                           const std::vector<ProductPart>& parts, const Tensor& preconditioner,
                                           const VerifyOptions& options, GradientProducts* products) {
  const std::vector<double> weights = Weights(products->slices(), parts, preconditioner);
  std::vector<double> g(weights.size()), h(weights.size());
  RandomStream random(options.seed, "verify");
  ProductTile tile;
  std::vector<Comparison> of_train, of_pairs, of_tests;
  double sum = 0, test_sum = 0;
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
    RETURN_IF_ERROR(products->SetTests(held));
    RETURN_IF_ERROR(products->Products({i}, /*squares=*/true, &tile));
    sum += square;
    of_train.push_back({SumOfParts(tile.train_square, parts.size()), square, square, square,
                        absl::StrFormat("|g|^2 of training example %d", i)});
    if (tests.empty()) continue;
    test_sum += test_square;
    of_pairs.push_back({SumOfParts(tile.product, parts.size()), dot, square, test_square,
                        absl::StrFormat("the product of training example %d and test %d", i, held[0])});
    of_tests.push_back({SumOfParts(products->TestNorms(), parts.size()), test_square, test_square, test_square,
                        absl::StrFormat("|g|^2 of test %d", held[0])});
  }
  const double mean = sum / static_cast<double>(options.pairs),
               test_mean = test_sum / static_cast<double>(options.pairs);
  Worst worst;
  const auto see = [&worst](const std::vector<Comparison>& all, double of_first, double of_second) {
    for (const Comparison& one : all) {
      worst.See(one.Error(of_first, of_second),
                absl::StrFormat("%s is %.9g, should be %.9g", one.what, one.found, one.expected));
    }
  };
  see(of_train, mean, mean);
  see(of_pairs, mean, test_mean);
  see(of_tests, test_mean, test_mean);
  RETURN_IF_ERROR(products->SetTests({}));
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
