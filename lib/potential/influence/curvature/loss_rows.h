// The rows of which the Gauss-Newton matrix of a potential's training loss is the sum of squares, by tiles: for each
// output of each structure the square root of its curvature times its derivative, or random combinations of these.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_LOSS_ROWS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_LOSS_ROWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/influence/output_rows.h"

namespace rutile {

// What structures add up to, beside their rows.
struct LossTotals {
  StructureTerms terms;
  int64_t num_outputs = 0;
  double loss = 0;               // sum over outputs of curvature error^2
  std::vector<double> gradient;  // [3, C] of the sums of the terms with their weights; empty: not wanted
};

class LossRows {
 public:
  // formulas, data, examples, pool: not owned. columns: the parameters that rows have, ascending, C in all. probes,
  // seed: those of GaussNewtonOptions.
  LossRows(const GradientFormulas& formulas, const AtomicData& data, const std::vector<ColumnRange>& columns,
           absl::Span<const int64_t> examples, int probes, uint64_t seed, ThreadPool* pool);

  int64_t size() const { return size_; }            // C
  int64_t num_rows() const { return num_rows_; }    // of all structures
  int64_t most_rows() const { return most_rows_; }  // of a structure

  // Makes all rows, in the order of the examples, by tiles of whole structures of at least `tile_rows` rows but for the
  // last one, unless they have `most` structures before. room(rows): where a tile [rows, C] goes; use(rows, tile) is
  // called once it is there. totals: added to; may be null. The tiles do not depend on the number of threads.
  // INVALID_ARGUMENT naming the structure: errors of OutputRows.
  absl::Status Make(int64_t tile_rows, int64_t most, LossTotals* totals,
                    const std::function<double*(int64_t rows)>& room,
                    const std::function<void(int64_t rows, const double* tile)>& use);

 private:
  struct Worker;
  struct Part;
  int64_t RowsOf(int64_t s) const;
  absl::Status MakeTile(absl::Span<const int64_t> examples, const std::vector<int64_t>& offset, double* tile,
                        LossTotals* totals);
  void MakeStructure(int64_t s, double* rows, Worker* worker, double* gradients, Part* part) const;

  const GradientFormulas& formulas_;
  const AtomicData& data_;
  const absl::Span<const int64_t> examples_;
  const int probes_;
  const uint64_t seed_;
  ThreadPool* const pool_;
  const std::vector<ColumnRange> columns_;
  int64_t size_ = 0, num_rows_ = 0, most_rows_ = 0;
  std::vector<std::shared_ptr<Worker>> workers_;
  std::vector<double> gradients_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_LOSS_ROWS_H_
