#include "lib/potential/model/labels/counted_labels.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rutile {
namespace {

struct Term {
  const char* flag;
  const char* label;   // as in "none has forces"
  const char* metric;  // prefix of the names of its metrics
  double weight;
  bool (*has)(const AtomicData& data, int64_t s);
};

std::array<Term, 3> TermsOf(const LossOptions& loss) {
  return {{{"energy_weight", "an energy", "val_energy_", loss.energy_weight,
            [](const AtomicData& data, int64_t s) { return data.has_energy(s); }},
           {"force_weight", "forces", "val_force_", loss.force_weight,
            [](const AtomicData& data, int64_t s) { return !data.force(s).empty(); }},
           {"stress_weight", "a stress", "val_stress_", loss.stress_weight,
            [](const AtomicData& data, int64_t s) { return data.has_stress(s); }}}};
}

// Metrics leave weights out of account; losses do not.
bool HasLabel(const AtomicData& data, const Term& term, absl::Span<const int64_t> structures, bool weighted) {
  return std::any_of(structures.begin(), structures.end(),
                     [&](int64_t s) { return term.has(data, s) && (!weighted || data.weight(s) > 0); });
}

}  // namespace

std::vector<std::string> TermsWithoutLabels(const AtomicData& data, const LossOptions& loss,
                                            absl::Span<const int64_t> structures, absl::string_view set) {
  std::vector<std::string> sentences;
  for (const Term& term : TermsOf(loss)) {
    if (term.weight == 0 || HasLabel(data, term, structures, /*weighted=*/true)) continue;
    sentences.push_back(absl::StrCat(
        "--", term.flag, "=", term.weight, ", but none of the ", structures.size(), " ", set, " structures has ",
        term.label, HasLabel(data, term, structures, /*weighted=*/false) ? " and a weight above 0" : "", ": the ", set,
        " loss is without that term"));
  }
  return sentences;
}

std::vector<LabelCount> CountLabels(const AtomicData& data, const LossOptions& loss,
                                    absl::Span<const int64_t> structures) {
  constexpr const char* kPlural[] = {"energies", "forces", "stresses"};
  const std::array<Term, 3> terms = TermsOf(loss);
  std::vector<LabelCount> counts;
  for (size_t t = 0; t < terms.size(); ++t) {
    if (t > 0 && terms[t].weight == 0) continue;
    counts.push_back({kPlural[t], std::count_if(structures.begin(), structures.end(),
                                                [&](int64_t s) { return terms[t].has(data, s); })});
  }
  return counts;
}

std::vector<std::string> PartialLabels(const AtomicData& data, const LossOptions& loss,
                                       absl::Span<const int64_t> structures, absl::string_view set) {
  std::vector<std::string> sentences;
  for (const LabelCount& each : CountLabels(data, loss, structures)) {
    if (each.count == 0 || each.count == static_cast<int64_t>(structures.size())) continue;
    sentences.push_back(absl::StrCat(each.count, " of ", structures.size(), " ", set, " structures have ", each.label,
                                     ": errors of ", each.label, " are over these alone"));
  }
  return sentences;
}

absl::Status CheckMonitored(const AtomicData& data, const LossOptions& loss, absl::Span<const int64_t> validation,
                            absl::string_view monitor) {
  if (validation.empty()) return absl::OkStatus();
  const std::array<Term, 3> terms = TermsOf(loss);
  for (const Term& term : terms) {
    if (!absl::StartsWith(monitor, term.metric) || HasLabel(data, term, validation, /*weighted=*/false)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--monitor=", monitor, ": none of the ", validation.size(),
                                                   " validation structures has ", term.label,
                                                   ": monitor something else, or validate on others"));
  }
  if (!monitor.empty() && monitor != "val_loss") return absl::OkStatus();
  std::vector<std::string> weighted;
  for (const Term& term : terms) {
    if (term.weight == 0) continue;
    if (HasLabel(data, term, validation, /*weighted=*/true)) return absl::OkStatus();
    weighted.push_back(absl::StrCat(term.label, " (--", term.flag, "=", term.weight, ")"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nothing in the validation set counts in the loss: none of its ", validation.size(),
                   " structures has a weight above 0 and ", absl::StrJoin(weighted, " or "),
                   ": validate on others, or monitor something else (--monitor=val_energy_rmse, train_loss)"));
}

}  // namespace rutile
