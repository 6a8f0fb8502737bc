#include "lib/evaluation/prediction_xyz.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/all_finite.h"
#include "lib/structure/extxyz/extxyz_writer.h"

namespace rutile {
namespace {

// What evaluate says of a frame and its model. In a file that is evaluated again it is said of another model.
constexpr absl::string_view kModelKeys[] = {"energy_spread", "energy_std", "select_rank", "select_score"};

}  // namespace

bool AppendPredictionXyz(const Structure& structure, const StructurePrediction& prediction,
                         absl::Span<const uint8_t> outside, int64_t number, std::string* out) {
  ExtxyzLabels labels;
  bool finite = true;
  const auto add_value = [&](absl::string_view name, absl::Span<const double> numbers) {
    if (AllFinite(numbers)) {
      labels.values.push_back({name, numbers});
    } else {
      finite = false;
    }
  };
  const auto add_column = [&](absl::string_view name, int width, absl::Span<const double> numbers) {
    if (numbers.empty()) return;  // was not predicted
    if (AllFinite(numbers)) {
      labels.columns.push_back({name, 'R', width, numbers});
    } else {
      finite = false;
    }
  };

  add_value("energy", absl::MakeConstSpan(&prediction.predicted_energy, 1));
  if (prediction.predicted_stress.has_value()) add_value("stress", *prediction.predicted_stress);
  if (prediction.energy_spread.has_value()) {
    add_value("energy_spread", absl::MakeConstSpan(&*prediction.energy_spread, 1));
  }
  if (prediction.energy_std.has_value()) add_value("energy_std", absl::MakeConstSpan(&*prediction.energy_std, 1));
  add_column("forces", 3, prediction.predicted_force);
  add_column("energies", 1, prediction.atom_energy);
  add_column("forces_spread", 1, prediction.force_spread);
  add_column("energies_std", 1, prediction.atom_energy_std);
  add_column("forces_std", 3, prediction.force_std);
  const std::vector<double> flags(outside.begin(), outside.end());
  if (!flags.empty()) labels.columns.push_back({"outside", 'I', 1, flags});

  // References come from the reader, which refuses what is not finite.
  if (structure.energy.has_value()) labels.values.push_back({"REF_energy", absl::MakeConstSpan(&*structure.energy, 1)});
  if (structure.stress.has_value()) labels.values.push_back({"REF_stress", *structure.stress});
  if (!structure.force.empty()) labels.columns.push_back({"REF_forces", 'R', 3, structure.force});

  labels.texts = {{"structure_number", absl::StrCat(number)}, {"structure_name", structure.name}};
  const auto is_old = [&](absl::string_view key) { return structure.info.count(std::string(key)) > 0; };
  if (std::none_of(std::begin(kModelKeys), std::end(kModelKeys), is_old)) {
    AppendExtxyz(structure, labels, out);
    return finite;
  }
  Structure fresh = structure;
  for (const absl::string_view key : kModelKeys) fresh.info.erase(std::string(key));
  AppendExtxyz(fresh, labels, out);
  return finite;
}

}  // namespace rutile
