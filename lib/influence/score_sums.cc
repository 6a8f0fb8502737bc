#include "lib/influence/score_sums.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// Scores that are summed and compared at once: in L1 with their bounds, and far more than a register holds.
constexpr int64_t kBlock = 256;
using Block = std::array<double, kBlock>;
constexpr int64_t kLanes = 4;
using Vec = double __attribute__((vector_size(kLanes * sizeof(double))));
using Mask = int64_t __attribute__((vector_size(kLanes * sizeof(int64_t))));

// sum[i] += factor * product[i], or with a factor for each.
void AddScaled(const double* __restrict product, double factor, int64_t n, double* __restrict sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * product[i];
}
void AddScaled(const double* __restrict product, const double* __restrict train, const double* __restrict test,
               int64_t n, double* __restrict sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += train[i] * (product[i] * test[i]);
}

// Whether some score is not strictly between its bounds. The vectors are spelled out: the compiler
// makes none of comparisons whose results are or-ed.
bool AnyOutside(const Block& score, const Block& low, const Block& high, int64_t n) {
  Mask outside = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Vec s, l, h;
    std::memcpy(&s, &score[i], sizeof(s));
    std::memcpy(&l, &low[i], sizeof(l));
    std::memcpy(&h, &high[i], sizeof(h));
    outside |= ~((l < s) & (s < h));
  }
  int64_t any = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) any |= outside[lane];
  for (; i < n; ++i) any |= low[i] < score[i] && score[i] < high[i] ? 0 : 1;
  return any != 0;
}

// A number for each of `rows` rows of `width`, and for each of `width` columns of as many rows.
void RepeatInRows(const double* from, double factor, int64_t rows, int64_t width, double* out) {
  for (int64_t r = 0; r < rows; ++r) {
    const double value = from == nullptr ? factor : factor * from[r];
    for (int64_t j = 0; j < width; ++j) *out++ = value;
  }
}
void RepeatRow(const double* from, int64_t rows, int64_t width, double* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < width; ++j) *out++ = from == nullptr ? 1 : from[j];
  }
}

// Scores of some columns, few enough for a block to hold a row of them; several rows where columns are that few.
class ColumnScan {
 public:
  ColumnScan(absl::Span<const ScoreTerm> terms, int64_t num_train, int64_t num_tests, int64_t first, int64_t width,
             ScoreBounds* bounds, const std::function<bool(int64_t, int64_t, double)>& found)
      : terms_(terms),
        num_train_(num_train),
        num_tests_(num_tests),
        first_(first),
        width_(width),
        rows_(width == num_tests ? std::max<int64_t>(1, kBlock / width) : 1),  // else rows are not contiguous
        bounds_(bounds),
        found_(found) {
    for (int64_t j = 0; j < width_; ++j) SetBounds(j);
  }

  bool Run() {
    for (int64_t row = 0; row < num_train_; row += rows_) {
      const int64_t rows = std::min(rows_, num_train_ - row), n = rows * width_;
      Sum(row, rows);
      if (AnyOutside(score_, low_, high_, n) && !Report(row, n)) return false;
    }
    return true;
  }

 private:
  void SetBounds(int64_t j) {
    for (int64_t i = j; i < rows_ * width_; i += width_) {
      low_[i] = bounds_[j].low;
      high_[i] = bounds_[j].high;
    }
  }

  void Sum(int64_t row, int64_t rows) {
    const int64_t n = rows * width_;
    std::fill_n(score_.begin(), n, 0.0);
    for (const ScoreTerm& term : terms_) {
      const double* product = term.product + row * num_tests_ + first_;
      if (term.train_scale == nullptr && term.test_scale == nullptr) {
        AddScaled(product, term.factor, n, score_.data());
      } else {
        RepeatInRows(term.train_scale == nullptr ? nullptr : term.train_scale + row, term.factor, rows, width_,
                     train_.data());
        RepeatRow(term.test_scale == nullptr ? nullptr : term.test_scale + first_, rows, width_, test_.data());
        AddScaled(product, train_.data(), test_.data(), n, score_.data());
      }
    }
  }

  bool Report(int64_t row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (low_[i] < score_[i] && score_[i] < high_[i]) continue;
      const int64_t j = i % width_;
      if (!found_(row + i / width_, first_ + j, score_[i])) return false;
      if (bounds_[j].low != low_[i] || bounds_[j].high != high_[i]) SetBounds(j);
    }
    return true;
  }

  const absl::Span<const ScoreTerm> terms_;
  const int64_t num_train_, num_tests_, first_, width_, rows_;
  ScoreBounds* const bounds_;
  const std::function<bool(int64_t, int64_t, double)>& found_;
  Block score_, low_, high_, train_, test_;
};

}  // namespace

void FindScores(absl::Span<const ScoreTerm> terms, int64_t num_train, int64_t num_tests, int64_t first, int64_t last,
                absl::Span<ScoreBounds> bounds, const std::function<bool(int64_t b, int64_t h, double score)>& found) {
  CHECK(0 <= first && first <= last && last <= num_tests) << first << " to " << last << " of " << num_tests;
  CHECK_EQ(bounds.size(), last - first);
  for (int64_t h = first; h < last; h += kBlock) {
    const int64_t width = std::min(kBlock, last - h);
    if (!ColumnScan(terms, num_train, num_tests, h, width, bounds.data() + (h - first), found).Run()) return;
  }
}

}  // namespace rutile
