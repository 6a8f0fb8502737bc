#include "lib/matrix/matrix_products.h"

#include <type_traits>

#include "lib/base/logging.h"
#include "lib/matrix/dense_products.h"

namespace rutile {
namespace {

// Ranges of threads are multiples of kUnit columns or rows, the size of a tile or vector. Columns are divided if there
// are at least 2 kColumns for each thread, otherwise rows.
constexpr int64_t kUnit = 16, kColumns = 48;
// Numbers of columns of the result and of terms of its sums below which tiles are too empty. The number of rows does
// not matter, so that a row has the same bits whatever other rows are multiplied.
constexpr int64_t kFewColumns = 16, kFewTerms = 24;
// Number of multiplications below which one thread does all: about 20 microseconds.
constexpr int64_t kSmall = int64_t{1} << 20;

// Calls multiply(a, b, out, worker) for parts of the product: ranges of columns, or of rows if there are few columns.
template <typename T, typename Body>
void ForParts(ThreadPool* pool, const MatrixView<T>& a, const MatrixView<T>& b, T* out, int64_t stride,
              const Body& multiply) {
  const int64_t m = a.height(), n = b.width(), threads = pool == nullptr ? 1 : pool->num_threads();
  if (threads == 1 || m * n * a.width() < kSmall) return multiply(a, b, out, 0);
  const auto share = [&](int64_t of) { return (of + threads * kUnit - 1) / (threads * kUnit) * kUnit; };
  if (n >= 2 * threads * kColumns) {
    pool->For(n, share(n),
              [&](int64_t begin, int64_t end, int worker) { multiply(a, b.Columns(begin, end), out + begin, worker); });
  } else {
    pool->For(m, share(m), [&](int64_t begin, int64_t end, int worker) {
      multiply(a.Rows(begin, end), b, out + begin * stride, worker);
    });
  }
}

}  // namespace

template <typename T>
MatrixProducts<T>::MatrixProducts(FactorRounding factors, ThreadPool* pool) : pool_(pool) {
  const int threads = pool == nullptr ? 1 : pool->num_threads();
  if (std::is_same_v<T, float> && Bf16Forms().front() == Bf16Form::kAmx) {
    for (int t = 0; t < threads; ++t) exact_.emplace_back(/*parts=*/3);
  }
  if (factors == FactorRounding::kNone) return;
  CHECK_EQ(sizeof(T), sizeof(float)) << "mixed precision is of fp32";
  for (int t = 0; t < threads; ++t) bf16_.emplace_back(factors == FactorRounding::kTwoParts ? 2 : 1);
}

template <typename T>
void MatrixProducts<T>::Multiply(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  if constexpr (std::is_same_v<T, float>) {
    const bool thin = b.width() < kFewColumns || a.width() < kFewTerms;
    std::vector<Bf16Products>& tiles = rounding_ && !bf16_.empty() ? bf16_ : exact_;
    if (!tiles.empty() && (&tiles == &bf16_ || !thin)) {
      return ForParts(pool_, a, b, out, stride, [&](const auto& left, const auto& right, T* to, int worker) {
        tiles[worker].Multiply(left, right, add, to, stride);
      });
    }
  }
  ForParts(pool_, a, b, out, stride,
           [&](const auto& left, const auto& right, T* to, int) { MultiplyDense(left, right, add, to, stride); });
}

template class MatrixProducts<float>;
template class MatrixProducts<double>;

}  // namespace rutile
