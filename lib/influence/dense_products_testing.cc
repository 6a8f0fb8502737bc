#include "lib/influence/dense_products_testing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr int64_t kBuffer = 7;  // where the buffer lies

std::vector<double> RandomRows(int64_t rows, int64_t checkpoint, absl::string_view purpose) {
  RandomStream stream(11, purpose, static_cast<uint64_t>(checkpoint));
  std::vector<double> values(rows * DenseProducts::kNumParameters);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = stream.Uniform(-1, 1);
    if (i % DenseProducts::kNumParameters == kBuffer) values[i] = 0;
  }
  return values;
}

}  // namespace

DenseProducts::DenseProducts(int64_t num_train, int64_t num_tests, int checkpoint)
    : train(RandomRows(num_train, checkpoint, "train")),
      tests(RandomRows(num_tests, checkpoint, "tests")),
      slices_({{"a", 0, {3}, false}, {"b", 3, {2, 2}, false}, {"count", kBuffer, {1}, true}, {"c", 8, {4}, false}}),
      parts_({{"all", {0, 1, 3}}}) {}

absl::Status DenseProducts::SetTests(absl::Span<const int64_t> which) {
  set_tests_.clear();
  for (const int64_t test : which) {
    set_tests_.insert(set_tests_.end(), tests.begin() + test * kNumParameters,
                      tests.begin() + (test + 1) * kNumParameters);
  }
  return absl::OkStatus();
}

absl::Status DenseProducts::SetWeightedTests(absl::Span<const double> weights) {
  set_tests_.assign(kNumParameters, 0);
  for (size_t j = 0; j < weights.size(); ++j) {
    for (int64_t p = 0; p < kNumParameters; ++p) set_tests_[p] += weights[j] * tests[j * kNumParameters + p];
  }
  return absl::OkStatus();
}

double DenseProducts::Product(const ProductPart& part, const double* a, const double* b) const {
  double sum = 0;
  for (const int s : part.slices) {
    for (int64_t i = slices_[s].offset; i < slices_[s].offset + slices_[s].num_elements(); ++i) {
      sum += a[i] * b[i] * (preconditioner.empty() ? 1 : preconditioner[i]);
    }
  }
  return sum;
}

std::vector<double> DenseProducts::TestNorms() {
  std::vector<double> squares;
  for (const ProductPart& part : parts_) {
    for (size_t h = 0; h < set_tests_.size(); h += kNumParameters) {
      squares.push_back(Product(part, &set_tests_[h], &set_tests_[h]));
    }
  }
  return squares;
}

absl::Status DenseProducts::Products(absl::Span<const int64_t> examples, bool squares, ProductTile* tile) {
  ++calls;
  tile->product.clear();
  tile->train_square.clear();
  for (const ProductPart& part : parts_) {
    for (const int64_t example : examples) {
      if (example < 0 || example >= num_train()) return absl::InvalidArgumentError(absl::StrCat("no ", example));
      const double* row = &train[example * kNumParameters];
      for (size_t h = 0; h < set_tests_.size(); h += kNumParameters) {
        tile->product.push_back(Product(part, row, &set_tests_[h]));
      }
      if (squares) tile->train_square.push_back(Product(part, row, row));
    }
  }
  return absl::OkStatus();
}

absl::Status DenseProducts::ReferenceTrainGradient(int64_t example, absl::Span<double> gradient) {
  std::copy_n(&train[example * kNumParameters], kNumParameters, gradient.begin());
  return absl::OkStatus();
}

absl::Status DenseProducts::ReferenceTestGradient(int64_t test, absl::Span<double> gradient) {
  std::copy_n(&tests[test * kNumParameters], kNumParameters, gradient.begin());
  return absl::OkStatus();
}

}  // namespace rutile
