#include "lib/influence/block_sums.h"

#include <algorithm>

#include "lib/base/logging.h"
#include "lib/influence/score_kernel.h"

namespace rutile {

BlockSums::BlockSums(int64_t num_train, int64_t num_tests, int64_t parts, bool keep_parts)
    : num_tests_(num_tests),
      parts_(parts),
      total_(num_train * num_tests),
      of_parts_(keep_parts ? parts : 0, std::vector<double>(num_train * num_tests)),
      train_(num_tests),
      test_(num_tests, 1) {}

void BlockSums::AddTerm(const ScoreTerm& term, bool is_first, int64_t count, double* sums) {
  if (term.train_scale == nullptr && term.test_scale == nullptr) {
    return AddScaled(is_first, term.product, term.factor, count * num_tests_, sums);
  }
  if (term.test_scale != nullptr) {
    std::copy_n(term.test_scale, num_tests_, test_.begin());
  } else {
    std::fill(test_.begin(), test_.end(), 1);
  }
  for (int64_t b = 0; b < count; ++b) {
    std::fill(train_.begin(), train_.end(),
              term.train_scale == nullptr ? term.factor : term.factor * term.train_scale[b]);
    AddScaled(is_first, term.product + b * num_tests_, train_.data(), test_.data(), num_tests_, sums + b * num_tests_);
  }
}

void BlockSums::Add(absl::Span<const ScoreTerm> terms, bool is_first, int64_t first, int64_t count) {
  CHECK(0 <= first && (first + count) * num_tests_ <= static_cast<int64_t>(total_.size())) << first << ", " << count;
  CHECK_EQ(terms.size() % parts_, 0);
  const int64_t from = first * num_tests_;
  for (size_t t = 0; t < terms.size(); ++t) {
    AddTerm(terms[t], is_first && t == 0, count, total_.data() + from);
    if (of_parts_.empty()) continue;
    AddTerm(terms[t], is_first && t < parts_, count, of_parts_[t % parts_].data() + from);
  }
}

}  // namespace rutile
