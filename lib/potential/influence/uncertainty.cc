#include "lib/potential/influence/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/matrix/cholesky.h"

namespace rutile {
namespace {

// Rows that are solved at once: enough for products of matrices, in a few MB.
constexpr int64_t kTileRows = 256;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

UncertaintyPredictor::UncertaintyPredictor(const GradientFormulas& formulas, const Curvature& curvature)
    : curvature_(curvature), size_(curvature.size()), gradients_(formulas), gradient_(formulas.parameters.size()) {}

void UncertaintyPredictor::AddRow() {
  for (const ColumnRange& range : curvature_.columns) {
    rows_.insert(rows_.end(), gradient_.begin() + range.begin, gradient_.begin() + range.end);
  }
}

int64_t UncertaintyPredictor::SolveRows() {
  const auto rows = static_cast<int64_t>(rows_.size()) / size_;
  sides_.resize(rows_.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < size_; ++c) sides_[c * rows + r] = rows_[r * size_ + c];
  }
  rows_.clear();
  SolveLower(size_, curvature_.factor.data(), size_, rows, sides_.data());
  return rows;
}

void UncertaintyPredictor::TakeDeviations(double scale, std::vector<double>* to) {
  const int64_t rows = SolveRows();
  squares_.assign(rows, 0.0);
  for (int64_t c = 0; c < size_; ++c) {
    for (int64_t r = 0; r < rows; ++r) squares_[r] += sides_[c * rows + r] * sides_[c * rows + r];
  }
  for (const double square : squares_) to->push_back(scale * std::sqrt(square));
}

void UncertaintyPredictor::Predict(const StructureGeometry& geometry, const UncertaintyOptions& options,
                                   StructureUncertainty* result) {
  const auto atoms = static_cast<int64_t>(geometry.species.size());
  gradients_.PredictGeometry(geometry, options.forces);
  OutputSlopes slopes;
  slopes.terms.energy = true;
  slopes.energy = 1;
  gradients_.Gradient(slopes, absl::MakeSpan(gradient_));
  rows_.clear();
  AddRow();
  energy_.clear();
  TakeDeviations(curvature_.energy_scale, &energy_);
  result->energy = energy_[0];
  result->energy_row.assign(sides_.begin(), sides_.end());
  result->atom_energy.clear();
  for (int64_t i = 0; options.atoms && i < atoms; ++i) {
    gradients_.AtomGradient(i, absl::MakeSpan(gradient_));
    AddRow();
    if (i + 1 == atoms || static_cast<int64_t>(rows_.size()) >= kTileRows * size_) {
      TakeDeviations(curvature_.energy_scale, &result->atom_energy);
    }
  }
  result->force.clear();
  if (!options.forces) return;
  std::vector<double> found;
  slopes_.assign(3 * atoms, 0.0);
  OutputSlopes one;
  one.terms.force = true;
  one.force = slopes_;
  for (int64_t c = 0; c < 3 * atoms; c += options.force_stride) {
    slopes_[c] = 1;
    gradients_.Gradient(one, absl::MakeSpan(gradient_));
    slopes_[c] = 0;
    AddRow();
    if (c + options.force_stride >= 3 * atoms || static_cast<int64_t>(rows_.size()) >= kTileRows * size_) {
      TakeDeviations(curvature_.force_scale, &found);
    }
  }
  result->force.assign(3 * atoms, kNaN);
  for (size_t k = 0; k < found.size(); ++k) result->force[k * options.force_stride] = found[k];
}

}  // namespace rutile
