#include "lib/potential/influence/curvature/loss_rows.h"

#include <algorithm>
#include <cmath>

#include "lib/base/interrupt.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/trace/scope.h"

namespace rutile {

struct LossRows::Worker {
  Worker(const GradientFormulas& formulas, const std::vector<ColumnRange>& columns) : rows(formulas, columns) {}
  OutputRows rows;
  std::vector<StructureOutput> outputs;
  std::vector<double> slopes;
};

// What one structure adds to the totals.
struct LossRows::Part {
  absl::Status status;
  StructureTerms terms;
  double loss = 0;
};

LossRows::LossRows(const GradientFormulas& formulas, const AtomicData& data, const std::vector<ColumnRange>& columns,
                   absl::Span<const int64_t> examples, int probes, uint64_t seed, ThreadPool* pool)
    : formulas_(formulas),
      data_(data),
      examples_(examples),
      probes_(probes),
      seed_(seed),
      pool_(pool),
      columns_(columns) {
  for (const ColumnRange& range : columns) size_ += range.size();
  for (const int64_t s : examples) {
    num_rows_ += RowsOf(s);
    most_rows_ = std::max(most_rows_, RowsOf(s));
  }
}

int64_t LossRows::RowsOf(int64_t s) const {
  const int64_t outputs = OutputRows::Count(data_, s, formulas_.weights);
  return probes_ > 0 ? std::min<int64_t>(outputs, probes_) : outputs;
}

absl::Status LossRows::Make(int64_t tile_rows, int64_t most, LossTotals* totals,
                            const std::function<double*(int64_t rows)>& room,
                            const std::function<void(int64_t rows, const double* tile)>& use) {
  while (static_cast<int>(workers_.size()) < pool_->num_threads()) {
    workers_.push_back(std::make_shared<Worker>(formulas_, columns_));
  }
  for (size_t first = 0; first < examples_.size();) {
    int64_t rows = 0;
    size_t end = first;
    std::vector<int64_t> offset;
    while (end < examples_.size() && static_cast<int64_t>(end - first) < most && (rows == 0 || rows < tile_rows)) {
      offset.push_back(rows);
      rows += RowsOf(examples_[end++]);
    }
    double* const tile = room(rows);
    RETURN_IF_ERROR(MakeTile(examples_.subspan(first, end - first), offset, tile, totals));
    use(rows, tile);
    first = end;
  }
  return absl::OkStatus();
}

absl::Status LossRows::MakeTile(absl::Span<const int64_t> examples, const std::vector<int64_t>& offset, double* tile,
                                LossTotals* totals) {
  const ProfileScope scope(Stage::kGradients);
  const auto n = static_cast<int64_t>(examples.size());
  const bool has_gradients = totals != nullptr && !totals->gradient.empty();
  std::vector<Part> parts(n);
  if (has_gradients) gradients_.assign(3 * n * size_, 0.0);
  data_.Prefetch(examples);
  pool_->For(n, 1, [&](int64_t begin, int64_t end, int index) {
    for (int64_t k = begin; k < end; ++k) {
      MakeStructure(examples[k], tile + offset[k] * size_, workers_[index].get(),
                    has_gradients ? &gradients_[3 * k * size_] : nullptr, &parts[k]);
    }
  });
  for (int64_t k = 0; k < n; ++k) {
    RETURN_IF_ERROR(parts[k].status);
    if (totals == nullptr) continue;
    totals->num_outputs += OutputRows::Count(data_, examples[k], formulas_.weights);
    totals->loss += parts[k].loss;
    for (int t = 0; t < 3; ++t) {
      totals->terms.sum[t] += parts[k].terms.sum[t];
      totals->terms.count[t] += parts[k].terms.count[t];
    }
    for (int64_t c = 0; has_gradients && c < 3 * size_; ++c) totals->gradient[c] += gradients_[3 * k * size_ + c];
  }
  return absl::OkStatus();
}

void LossRows::MakeStructure(int64_t s, double* rows, Worker* worker, double* gradients, Part* part) const {
  std::vector<StructureOutput>& outputs = worker->outputs;
  part->status = CheckInterrupt();
  if (part->status.ok()) part->status = worker->rows.Predict(data_, s, &outputs, &part->terms);
  if (!part->status.ok() || outputs.empty()) return;
  const auto n = static_cast<int64_t>(outputs.size());
  std::vector<double>& slopes = worker->slopes;
  slopes.resize(n);
  for (const StructureOutput& output : outputs) part->loss += output.curvature * output.error * output.error;
  if (probes_ == 0 || n <= probes_) {
    for (int64_t k = 0; k < n; ++k) slopes[k] = std::sqrt(outputs[k].curvature);
    worker->rows.All(slopes, rows);
  } else {
    const double share = 1 / std::sqrt(static_cast<double>(probes_));
    for (int p = 0; p < probes_; ++p) {
      RandomStream signs(seed_, "gauss-newton", s, p);
      for (int64_t k = 0; k < n; ++k) {
        slopes[k] = (signs.Next() >> 63 != 0 ? share : -share) * std::sqrt(outputs[k].curvature);
      }
      worker->rows.Combination(slopes, rows + p * size_);
    }
  }
  if (gradients == nullptr) return;
  for (int t = 0; t < 3; ++t) {
    for (int64_t k = 0; k < n; ++k) slopes[k] = outputs[k].term == t ? outputs[k].slope : 0;
    if (part->terms.count[t] > 0) worker->rows.Combination(slopes, gradients + t * size_);
  }
}

}  // namespace rutile
