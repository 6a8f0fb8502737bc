// The loss of a task as terms that add up: over batches, accumulation windows and processes.

#ifndef RUTILE_LIB_TASK_LOSS_TERMS_H_
#define RUTILE_LIB_TASK_LOSS_TERMS_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace rutile {

// One term of the loss, as it is summed over examples: "energy" in (eV/atom)^2.
struct LossTerm {
  std::string name;
  std::string unit;
  double natural_size = 0;  // of one of its values, in the unit, where what the model computes is 1; 0: not known
};

// Sums of each term over examples, and how many values were summed (structures, force components, triples). They are
// added over batches, accumulation windows and processes, and only then a loss is formed.
struct TermSums {
  std::vector<double> sum;    // [T]
  std::vector<double> count;  // [T]
  explicit TermSums(int num_terms = 0) : sum(num_terms, 0.0), count(num_terms, 0.0) {}
  // CHECK-fails if `other` has another number of terms.
  void Add(const TermSums& other);
};

// The loss of summed terms, with the factors that turn each term's gradient into a part of the loss's gradient.
struct Loss {
  double value = 0;
  absl::InlinedVector<double, 4> weight;  // [T] d value / d sum[t], the counts held constant
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_LOSS_TERMS_H_
