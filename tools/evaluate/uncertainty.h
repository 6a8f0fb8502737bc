// --uncertainty: standard deviations of predictions, from a file of tracin --mode=curvature.

#ifndef RUTILE_TOOLS_EVALUATE_UNCERTAINTY_H_
#define RUTILE_TOOLS_EVALUATE_UNCERTAINTY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "lib/potential/influence/curvature/uncertainty.h"
#include "lib/potential/influence/gradient_rows.h"
#include "tools/evaluate/models.h"

namespace rutile {

// What --uncertainty asks for.
class Uncertainty {
 public:
  // Returns null without --uncertainty. INVALID_ARGUMENT: a file that is of none of the models, quantities that are
  // not known, a model whose gradients are not computed.
  static absl::StatusOr<std::unique_ptr<Uncertainty>> FromFlags(const Models& models);

  // Sets the deviations of a prediction; thread: number of the caller's thread. energy_row: filled as in
  // StructureUncertainty, or null.
  void Add(int thread, const StructureGeometry& geometry, StructurePrediction* prediction,
           std::vector<double>* energy_row);

  const Curvature& curvature() const { return curvature_; }
  const std::string& path() const { return curvature_.path; }

 private:
  struct Worker {
    Worker(const GradientFormulas& formulas, const Curvature& curvature) : predictor(formulas, curvature) {}
    UncertaintyPredictor predictor;
    StructureUncertainty found;
  };
  Uncertainty(const Potential& potential, Curvature curvature);

  const Curvature curvature_;
  const GradientFormulas formulas_;
  UncertaintyOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [threads]
};

// Prints how errors compare with their uncertainties and, of a committee, with its spread.
void PrintCalibrations(absl::Span<const StructurePrediction> predictions);

// Flags of uncertainty that parts of an evaluation must share, as words of a command; the file counts by its content.
absl::StatusOr<std::vector<std::string>> UncertaintySelection();

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_UNCERTAINTY_H_
