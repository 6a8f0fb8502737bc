// The gradient of a batch's loss, by each term, and its derivatives by the weights of the batch's structures.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_BATCH_GRADIENT_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_BATCH_GRADIENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/influence/output_rows.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// Sums over the structures of a batch. Terms are energy, force and stress; those that the loss lacks are 0.
struct BatchGradient {
  static constexpr int kTerms = 3;
  std::vector<StructureTerms> terms;              // [B]
  std::vector<std::vector<double>> by_structure;  // [B] of [terms of the loss, P]: of each structure's summed losses
  StructureTerms total;
  double slope[kTerms] = {};  // d loss / d sum
  double slope_by_sum[kTerms] = {}, slope_by_count[kTerms] = {};
  std::vector<std::vector<double>> by_term;  // [terms of the loss] of [P]: sums over the structures
  std::vector<double> gradient;              // [P] of the batch's loss
};

// Computes them in fp64, with threads over structures. Sums have a fixed order, so that results do not depend on the
// number of threads. One thread at a time may use an object.
class BatchGradients {
 public:
  // loss: weights of the terms and their kind. num_threads: >= 1.
  BatchGradients(const Potential& potential, const LossOptions& loss, AngularMethod method, int num_threads);

  // Computes the batch `examples` of `data` at these parameters [P]. Returns the errors of GradientRows::Compute.
  absl::Status Compute(const AtomicData& data, absl::Span<const int64_t> examples, absl::Span<const double> parameters,
                       BatchGradient* batch);
  // Computes the batch without by_structure, which takes the memory of [B, terms, P].
  absl::Status ComputeSums(const AtomicData& data, absl::Span<const int64_t> examples,
                           absl::Span<const double> parameters, BatchGradient* batch);

  // Adds factor times the gradient of `moved`, but with the slopes of `at`, to sum [P].
  void AddWithSlopesOf(const BatchGradient& at, const BatchGradient& moved, double factor, double* sum) const;
  // Adds to sum [P] what the change of the slopes along u [P], by that of the sums, adds to the Hessian's product with
  // u.
  void AddChangeOfSlopes(const BatchGradient& at, absl::Span<const double> u, double* sum) const;

  // Returns u d gradient / d weight of each structure [B]; its weight multiplies its sums and its counts. u: [P].
  std::vector<double> ByWeights(const BatchGradient& batch, absl::Span<const double> u) const;

 private:
  struct Worker {
    Worker(const Potential& potential, const LossOptions& loss, const TermWeights& weights, AngularMethod method);
    GradientFormulas formulas;
    OutputRows rows;
    std::vector<StructureOutput> outputs;
    std::vector<double> slopes;
  };

  absl::Status ComputeBatch(const AtomicData& data, absl::Span<const int64_t> examples,
                            absl::Span<const double> parameters, bool keep_structures, BatchGradient* batch);
  absl::Status OfStructure(const AtomicData& data, int64_t s, Worker* worker, StructureTerms* terms,
                           std::vector<double>* gradients) const;

  const LossOptions loss_;
  const int64_t num_parameters_;
  std::vector<int> terms_;  // of the loss: numbers in StructureTerms
  std::vector<double> weights_;
  std::vector<std::unique_ptr<Worker>> workers_;
  ThreadPool pool_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_BATCH_GRADIENT_H_
