#include "lib/influence/score_sums.h"

#include <algorithm>
#include <array>

#include "lib/base/logging.h"
#include "lib/influence/score_kernel.h"

namespace rutile {
namespace {

// Scores that are summed and compared at once. They fit into the first-level cache with their bounds, and are far more
// than a register has.
constexpr int64_t kBlock = 256;
using Block = std::array<double, kBlock>;

// Fill [rows, width]: RepeatInRows with one number for each row, RepeatRow with one for each column.
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

// Scans the scores of some columns, few enough for a block to hold a row of them, or several rows if there are few
// columns.
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
      if (AnyOutside(score_.data(), low_.data(), high_.data(), n) && !Report(row, n)) return false;
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
    for (size_t t = 0; t < terms_.size(); ++t) {
      const ScoreTerm& term = terms_[t];
      const double* product = term.product + row * num_tests_ + first_;
      if (term.train_scale == nullptr && term.test_scale == nullptr) {
        AddScaled(t == 0, product, term.factor, n, score_.data());
      } else {
        RepeatInRows(term.train_scale == nullptr ? nullptr : term.train_scale + row, term.factor, rows, width_,
                     train_.data());
        RepeatRow(term.test_scale == nullptr ? nullptr : term.test_scale + first_, rows, width_, test_.data());
        AddScaled(t == 0, product, train_.data(), test_.data(), n, score_.data());
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
  CHECK(!terms.empty());
  for (int64_t h = first; h < last; h += kBlock) {
    const int64_t width = std::min(kBlock, last - h);
    if (!ColumnScan(terms, num_train, num_tests, h, width, bounds.data() + (h - first), found).Run()) return;
  }
}

}  // namespace rutile
