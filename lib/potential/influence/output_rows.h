// Derivatives of a structure's predicted energy, force components and stresses by all parameters: the rows of the
// Jacobian of which the Gauss-Newton matrix, leverages and errors of structures left out are made.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_OUTPUT_ROWS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_OUTPUT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/gradient_rows.h"

namespace rutile {

// One output that counts in a structure's loss l: the energy per atom, a component of a force, or one of the six
// independent components of the stress.
struct StructureOutput {
  int term = 0;          // 0 energy, 1 force, 2 stress
  double error = 0;      // predicted less reference, in the units of the data
  double slope = 0;      // d l / d output
  double curvature = 0;  // d2 l / d output2, >= 0
};

// The sum of a structure's losses in each term before the term's own weight, and the number of its values, both times
// the weight of the structure.
struct StructureTerms {
  double sum[3] = {}, count[3] = {};
};

// Makes rows of one structure at a time. One thread at a time may use an object.
class OutputRows {
 public:
  // formulas: not owned; columns: the parameters that rows have, ascending, [C].
  OutputRows(const GradientFormulas& formulas, const std::vector<ColumnRange>& columns);

  // Must be called before the next Predict when the parameters of the formulas have changed.
  void ForgetStructure() { gradients_.ForgetStructure(); }
  // Returns the number of outputs of structure s that count. INVALID_ARGUMENT like GradientRows::Compute.
  static int64_t Count(const AtomicData& data, int64_t s, const TermWeights& weights);

  // Predicts structure s and fills `outputs`: all of Count.
  absl::Status Predict(const AtomicData& data, int64_t s, std::vector<StructureOutput>* outputs, StructureTerms* terms);
  // Writes the derivative of sum over k of slopes[k] output k of the structure that was predicted. row: [C].
  void Combination(absl::Span<const double> slopes, double* row);
  // Writes scale[k] d output k, for each output. rows: [outputs, C].
  void All(absl::Span<const double> scales, double* rows);

 private:
  const GradientFormulas& formulas_;
  const std::vector<ColumnRange> columns_;
  GradientRows gradients_;
  ExampleTerms terms_;
  int64_t num_force_ = 0, num_atoms_ = 0;
  std::vector<double> gradient_;  // [P]
  std::vector<double> force_;     // [3N]
  std::vector<double> unit_;      // [outputs]
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_OUTPUT_ROWS_H_
