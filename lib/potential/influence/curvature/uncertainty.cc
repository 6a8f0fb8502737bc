#include "lib/potential/influence/curvature/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rutile {
namespace {

// Rows that are solved at once: enough for products of matrices, in 16 MB where they are long.
int64_t TileRows(int64_t size) { return std::clamp<int64_t>((int64_t{1} << 21) / size, 8, 256); }
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

UncertaintyPredictor::UncertaintyPredictor(const GradientFormulas& formulas, const Curvature& curvature)
    : curvature_(curvature), size_(curvature.size()), gradients_(formulas), gradient_(formulas.parameters.size()) {}

void UncertaintyPredictor::AddRow() {
  for (const ColumnRange& range : curvature_.columns) {
    rows_.insert(rows_.end(), gradient_.begin() + range.begin, gradient_.begin() + range.end);
  }
}

void UncertaintyPredictor::TakeDeviations(double scale, std::vector<double>* to) {
  const auto rows = static_cast<int64_t>(rows_.size()) / size_;
  curvature_.inverse->SolveHalf(rows, rows_.data(), nullptr);
  for (int64_t r = 0; r < rows; ++r) {
    double square = 0;
    for (int64_t c = 0; c < size_; ++c) square += rows_[r * size_ + c] * rows_[r * size_ + c];
    to->push_back(scale * std::sqrt(square));
  }
  solved_ = std::move(rows_);
  rows_.clear();
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
  result->energy_row = solved_;
  result->atom_energy.clear();
  for (int64_t i = 0; options.atoms && i < atoms; ++i) {
    gradients_.AtomGradient(i, absl::MakeSpan(gradient_));
    AddRow();
    if (i + 1 == atoms || static_cast<int64_t>(rows_.size()) >= TileRows(size_) * size_) {
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
    if (c + options.force_stride >= 3 * atoms || static_cast<int64_t>(rows_.size()) >= TileRows(size_) * size_) {
      TakeDeviations(curvature_.force_scale, &found);
    }
  }
  result->force.assign(3 * atoms, kNaN);
  for (size_t k = 0; k < found.size(); ++k) result->force[k * options.force_stride] = found[k];
}

}  // namespace rutile
