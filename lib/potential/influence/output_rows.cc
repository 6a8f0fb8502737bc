#include "lib/potential/influence/output_rows.h"

#include <algorithm>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/potential/influence/gradient_example.h"

namespace rutile {
namespace {

// The components [3a + b] of the six independent stresses, and of their mirror images; -1 on the diagonal.
constexpr int kStress[6] = {0, 4, 8, 1, 2, 5}, kMirror[6] = {-1, -1, -1, 3, 6, 7};

}  // namespace

OutputRows::OutputRows(const GradientFormulas& formulas, const std::vector<ColumnRange>& columns)
    : formulas_(formulas), columns_(columns), gradients_(formulas), gradient_(formulas.parameters.size()) {}

int64_t OutputRows::Count(const AtomicData& data, int64_t s, const TermWeights& weights) {
  const ExampleTerms terms = TermsOf(data, GradientExample{s}, weights);
  return (terms.energy ? 1 : 0) + (terms.force ? 3 * data.num_atoms(s) : 0) + (terms.stress ? 6 : 0);
}

absl::Status OutputRows::Predict(const AtomicData& data, int64_t s, std::vector<StructureOutput>* outputs,
                                 StructureTerms* terms) {
  outputs->clear();
  *terms = StructureTerms();
  terms_ = TermsOf(data, GradientExample{s}, formulas_.weights);
  num_atoms_ = data.num_atoms(s);
  num_force_ = terms_.force ? 3 * num_atoms_ : 0;
  if (!terms_.any()) return absl::OkStatus();
  RETURN_IF_ERROR(gradients_.Predict(data, s, terms_));
  const double weight = data.weight(s);
  const auto add = [&](int term, double error, double term_weight, const ErrorLoss& loss) {
    outputs->push_back(
        {term, error, weight * term_weight * loss.Slope(error), weight * term_weight * loss.Curvature(error)});
    terms->sum[term] += weight * loss.Value(error);
    terms->count[term] += weight;
  };
  if (terms_.energy) add(0, gradients_.EnergyError(), formulas_.weights.energy, formulas_.energy_loss);
  for (int64_t c = 0; c < num_force_; ++c) {
    add(1, gradients_.ForceError(c), formulas_.weights.force, formulas_.force_loss);
  }
  for (int k = 0; terms_.stress && k < 6; ++k) {
    add(2, gradients_.StressError(kStress[k]), formulas_.weights.stress, formulas_.stress_loss);
    if (kMirror[k] < 0) continue;
    // The mirror image has the same prediction, and perhaps another reference.
    StructureOutput& output = outputs->back();
    const double error = gradients_.StressError(kMirror[k]), term_weight = weight * formulas_.weights.stress;
    output.slope += term_weight * formulas_.stress_loss.Slope(error);
    output.curvature += term_weight * formulas_.stress_loss.Curvature(error);
    output.error = 0.5 * (output.error + error);
    terms->sum[2] += weight * formulas_.stress_loss.Value(error);
    terms->count[2] += weight;
  }
  return absl::OkStatus();
}

void OutputRows::Combination(absl::Span<const double> slopes, double* row) {
  OutputSlopes along;
  const double* next = slopes.data();
  if (terms_.energy) along.energy = *next++ / static_cast<double>(num_atoms_);
  along.terms.energy = along.energy != 0;
  along.force = absl::MakeConstSpan(next, num_force_);
  along.terms.force = std::any_of(along.force.begin(), along.force.end(), [](double each) { return each != 0; });
  next += num_force_;
  for (int k = 0; terms_.stress && k < 6; ++k) {
    along.stress[kStress[k]] = *next++;
    along.terms.stress = along.terms.stress || along.stress[kStress[k]] != 0;
  }
  CHECK_EQ(next, slopes.data() + slopes.size());
  gradients_.Gradient(along, absl::MakeSpan(gradient_));
  for (const ColumnRange& range : columns_) row = std::copy_n(&gradient_[range.begin], range.size(), row);
}

void OutputRows::All(absl::Span<const double> scales, double* rows) {
  int64_t columns = 0;
  for (const ColumnRange& range : columns_) columns += range.size();
  unit_.assign(scales.size(), 0.0);
  for (size_t k = 0; k < scales.size(); ++k) {
    unit_[k] = scales[k];
    Combination(unit_, rows + static_cast<int64_t>(k) * columns);
    unit_[k] = 0;
  }
}

}  // namespace rutile
