// A potential or a committee, read for molecular dynamics: what a rutile_model of the C interface holds.

#ifndef RUTILE_LIB_MD_MD_MODEL_H_
#define RUTILE_LIB_MD_MD_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

// Immutable, and so shared by threads.
class MdModel {
 public:
  // precision: 32, 64, or 0 for that of the files. curvature: the file for standard deviations, or "". NOT_FOUND, or
  // INVALID_ARGUMENT: no path, another precision, the errors of OpenPotentials (a file that is no potential), models
  // without a common descriptor, a curvature file that was made for none of the models.
  static absl::StatusOr<std::shared_ptr<const MdModel>> Open(absl::Span<const std::string> paths, int precision,
                                                             const std::string& curvature = "");

  absl::Span<const Potential> potentials() const { return potentials_; }
  const std::vector<std::string>& symbols() const { return symbols_; }  // [species]
  double cutoff() const { return potentials_[0].descriptor.cutoff(); }  // Angstrom
  int precision() const;                                                // 32 or 64
  bool has_training_range() const;
  // The curvature that gives standard deviations, and the gradients' formulas of the member that it was made for. Both
  // are null if the model was opened without a curvature.
  const Curvature* curvature() const { return curvature_.get(); }
  const GradientFormulas* formulas() const { return formulas_.get(); }

 private:
  // Reads the curvature and finds the member that it was made for. names: those of the potentials, for messages.
  absl::Status ReadCurvatureOf(const std::string& path, absl::Span<const std::string> names);

  std::vector<Potential> potentials_;  // [members]
  std::vector<std::string> symbols_;
  std::unique_ptr<const Curvature> curvature_;
  std::unique_ptr<const GradientFormulas> formulas_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MD_MD_MODEL_H_
