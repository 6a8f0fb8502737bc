// Errors of a data set with their uncertainties. Apart from the predictor, so that the C library (lib/md) links without
// the readers of data sets.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/potential/data/geometry.h"
#include "lib/potential/influence/curvature/uncertainty.h"

namespace rutile {
namespace {

// A component whose deviation is below this share of the others' is zero by symmetry, but for rounding.
constexpr double kFixedShare = 1e-6;

}  // namespace

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
        RETURN_IF_ERROR(CheckInterrupt());
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
  if (errors.error.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (size_t k = 0; k < errors.error.size(); ++k) {
    const double z = errors.error[k] / errors.deviation[k];
    sum += z * z;
  }
  return std::sqrt(sum / static_cast<double>(errors.error.size()));
}

}  // namespace rutile
