#include "lib/potential/influence/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "lib/base/status_macros.h"
#include "lib/matrix/cholesky.h"
#include "lib/potential/data/geometry.h"

namespace rutile {
namespace {

// Rows that are solved at once: enough for products of matrices, in a few MB.
constexpr int64_t kTileRows = 256;
// A component whose deviation is below this share of the others' is zero by symmetry, but for rounding.
constexpr double kFixedShare = 1e-6;
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

absl::StatusOr<CalibrationData> PredictForCalibration(const GradientFormulas& formulas, const Curvature& curvature,
                                                      const AtomicData& data, absl::Span<const int64_t> structures,
                                                      int64_t max_force_components, ThreadPool* pool) {
  int64_t components = 0;
  for (const int64_t s : structures) components += static_cast<int64_t>(data.force(s).size());
  const int64_t stride = std::max<int64_t>(1, (components + max_force_components - 1) / max_force_components);
  struct Worker {
    Worker(const GradientFormulas& formulas, const Curvature& curvature)
        : errors(formulas), predictor(formulas, curvature) {}
    GradientRows errors;
    UncertaintyPredictor predictor;
    PairMemory pairs;
    StructureUncertainty uncertainty;
  };
  std::vector<std::unique_ptr<Worker>> workers(pool->num_threads());
  for (auto& worker : workers) worker = std::make_unique<Worker>(formulas, curvature);
  std::vector<CalibrationData> parts(structures.size());
  std::vector<absl::Status> status(structures.size());
  pool->For(static_cast<int64_t>(structures.size()), 1, [&](int64_t begin, int64_t end, int index) {
    Worker& worker = *workers[index];
    const StructureUncertainty& found = worker.uncertainty;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t s = structures[k];
      const auto predict = [&]() -> absl::Status {
        ExampleTerms terms;
        terms.energy = data.has_energy(s);
        terms.force = !data.force(s).empty();
        if (!terms.any()) return absl::OkStatus();
        RETURN_IF_ERROR(worker.errors.Predict(data, s, terms));
        UncertaintyOptions options;
        options.forces = terms.force;
        options.force_stride = stride;
        ASSIGN_OR_RETURN(const StructureGeometry geometry, GeometryOf(data, s, &worker.pairs));
        worker.predictor.Predict(geometry, options, &worker.uncertainty);
        if (terms.energy) {
          parts[k].energy.error.push_back(worker.errors.EnergyError());
          parts[k].energy.deviation.push_back(found.energy / static_cast<double>(data.num_atoms(s)));
        }
        for (size_t c = 0; c < found.force.size(); c += stride) {
          parts[k].force.error.push_back(worker.errors.ForceError(c));
          parts[k].force.deviation.push_back(found.force[c]);
        }
        return absl::OkStatus();
      };
      status[k] = predict();
    }
  });
  for (const absl::Status& each : status) RETURN_IF_ERROR(each);
  CalibrationData all;
  double sum = 0, count = 0;
  for (const CalibrationData& part : parts) {
    for (const double each : part.force.deviation) {
      sum += each * each;
      ++count;
    }
  }
  // Nor can forces be known so much better than energies, unless all of them are zero by symmetry.
  double of_energies = 0;
  for (const CalibrationData& part : parts) {
    for (const double each : part.energy.deviation) of_energies = std::max(of_energies, each);
  }
  constexpr double kFixedByEnergies = 1e-9;  // 1/Angstrom
  const double fixed = std::max(count > 0 ? kFixedShare * std::sqrt(sum / count) : 0, kFixedByEnergies * of_energies);
  for (const CalibrationData& part : parts) {
    for (size_t k = 0; k < part.energy.error.size(); ++k) {
      all.energy.error.push_back(part.energy.error[k]);
      all.energy.deviation.push_back(part.energy.deviation[k]);
    }
    for (size_t k = 0; k < part.force.error.size(); ++k) {
      if (!(part.force.deviation[k] > fixed)) {
        ++all.num_fixed;
        continue;
      }
      all.force.error.push_back(part.force.error[k]);
      all.force.deviation.push_back(part.force.deviation[k]);
    }
  }
  return all;
}

double ScaleOf(const ErrorsWithUncertainty& errors) {
  if (errors.error.empty()) return kNaN;
  double sum = 0;
  for (size_t k = 0; k < errors.error.size(); ++k) {
    const double z = errors.error[k] / errors.deviation[k];
    sum += z * z;
  }
  return std::sqrt(sum / static_cast<double>(errors.error.size()));
}

}  // namespace rutile
