// --select: chooses from the evaluated structures those to compute next, and writes them as extended XYZ.

#ifndef RUTILE_TOOLS_EVALUATE_SELECTION_H_
#define RUTILE_TOOLS_EVALUATE_SELECTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/influence/structure_choice.h"
#include "tools/evaluate/models.h"
#include "tools/evaluate/predictions.h"
#include "tools/evaluate/uncertainty.h"

namespace rutile {

// By what structures are chosen.
enum class SelectionRule { kUncertainty, kSpread, kOutside, kFarthest };

class Selection {
 public:
  // Returns null without --select. uncertainty: what --uncertainty asks for, or null; models and it are not owned.
  // INVALID_ARGUMENT: a rule that needs what is not there (a committee, --uncertainty, ranges of features), or standard
  // input, which cannot be read twice.
  static absl::StatusOr<std::unique_ptr<Selection>> FromFlags(const Models& models,
                                                              absl::Span<const std::string> inputs,
                                                              Uncertainty* uncertainty);

  // Keeps what the rule needs of a structure. Different threads may call it at the same time. energy_row: as in
  // Uncertainty::Add, empty without it.
  void AddGeometry(int thread, int64_t number, const StructureGeometry& geometry, int64_t num_atoms,
                   const std::vector<double>& energy_row);
  // The number of the next structure of the predictions, in their order.
  void AddNumber(int64_t number) { numbers_.push_back(number); }
  // True if AddGeometry is needed.
  bool needs_geometry() const { return rule_ == SelectionRule::kUncertainty || rule_ == SelectionRule::kFarthest; }

  // Chooses, reads the chosen structures again, and writes the file, which appears now. predictions: of the structures
  // of `inputs` with the numbers that were added.
  absl::Status Write(absl::Span<const std::string> inputs, absl::Span<const StructurePrediction> predictions) const;

 private:
  Selection(const Models& models, Uncertainty* uncertainty);
  absl::StatusOr<std::vector<Choice>> Choose(absl::Span<const StructurePrediction> predictions) const;
  absl::StatusOr<std::vector<Choice>> ByUncertainty() const;
  // Rows of the structures in the order of predictions, after each other.
  std::vector<double> RowsInOrder() const;

  const Models& models_;
  Uncertainty* const uncertainty_;
  SelectionRule rule_ = SelectionRule::kUncertainty;
  std::vector<std::string> targets_;  // files of --select_for
  std::unique_ptr<GradientFormulas> formulas_;
  std::vector<std::unique_ptr<GradientRows>> features_;  // [threads], for kFarthest
  std::vector<int64_t> numbers_;
  std::mutex mutex_;                             // guards the rows
  std::map<int64_t, std::vector<double>> rows_;  // by number
};

// Adds what is computed for --uncertainty and --select while structures are predicted; null: neither.
void AddHooks(Uncertainty* uncertainty, Selection* selection, PredictionHooks* hooks);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_SELECTION_H_
