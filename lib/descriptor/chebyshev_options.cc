#include "lib/descriptor/chebyshev_options.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/options_json.h"

namespace rutile {
namespace {

constexpr int kLargestOrder = 32;
constexpr absl::string_view kKeys[] = {"type",      "species",    "rad_order", "rad_cutoff",
                                       "ang_order", "ang_cutoff", "min_cutoff"};
constexpr char kNearer[] = "nearer";  // the only optional key

absl::Status CheckOrder(absl::string_view flag, int order) { return CheckInteger(flag, order, 0, kLargestOrder); }

absl::StatusOr<std::vector<AngularSet>> SetsFrom(const OptionsJson& json) {
  if (!json.is_array() || json.empty()) return OptionsJsonError("\"nearer\" is not a list of angular sets");
  std::vector<AngularSet> sets;
  for (const OptionsJson& item : json) {
    if (!item.is_object() || item.size() != 2 || !item.contains("ang_order") || !item.contains("ang_cutoff")) {
      return OptionsJsonError(
          absl::StrCat("\"nearer\" has ", item.dump(), ", expected an ang_order and an ang_cutoff"));
    }
    AngularSet set;
    ASSIGN_OR_RETURN(set.order, IntegerAt(item, "ang_order"));
    ASSIGN_OR_RETURN(set.cutoff, NumberAt(item, "ang_cutoff"));
    sets.push_back(set);
  }
  return sets;
}

std::vector<std::pair<int, double>> Values(const std::vector<AngularSet>& sets) {
  std::vector<std::pair<int, double>> values;
  for (const AngularSet& set : sets) values.emplace_back(set.order, set.cutoff);
  return values;
}

}  // namespace

int ChebyshevOptions::num_features() const {
  int rows = rad_order + 1 + ang_order + 1;
  for (const AngularSet& set : nearer) rows += set.order + 1;
  return rows * (species.size() > 1 ? 2 : 1);
}

ChebyshevOptions ChebyshevOptions::Outermost() const {
  ChebyshevOptions options = *this;
  options.nearer.clear();
  return options;
}

ChebyshevOptions ChebyshevOptions::Nearer(size_t k) const {
  ChebyshevOptions options = Outermost();
  options.rad_order = 0;
  options.rad_cutoff = options.ang_cutoff = nearer[k].cutoff;
  options.ang_order = nearer[k].order;
  return options;
}

std::vector<double> ChebyshevOptions::TypeSpins() const {
  const int count = static_cast<int>(species.size());
  if (count == 1) return {1};
  std::vector<double> spins;
  for (int spin = -(count / 2); static_cast<int>(spins.size()) < count; ++spin) {
    if (spin != 0 || count % 2 == 1) spins.push_back(spin);
  }
  return spins;
}

absl::Status ChebyshevOptions::Validate() const {
  RETURN_IF_ERROR(CheckSpecies(species));
  RETURN_IF_ERROR(CheckOrder("rad_order", rad_order));
  RETURN_IF_ERROR(CheckOrder("ang_order", ang_order));
  RETURN_IF_ERROR(CheckCutoff("rad_cutoff", rad_cutoff));
  RETURN_IF_ERROR(CheckCutoff("ang_cutoff", ang_cutoff));
  double least = ang_cutoff;
  for (const AngularSet& set : nearer) {
    RETURN_IF_ERROR(CheckOrder("ang_order", set.order));
    RETURN_IF_ERROR(CheckCutoff("ang_cutoff", set.cutoff));
    if (set.cutoff >= least) {
      return absl::InvalidArgumentError(absl::StrCat("--ang_cutoff=", AngularCutoffs(), ": ", set.cutoff, " after ",
                                                     least, "; expected the largest first, each one once"));
    }
    least = set.cutoff;
  }
  if (!(min_cutoff >= 0 && min_cutoff < std::min(rad_cutoff, least))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--min_cutoff=", min_cutoff, ": expected 0 or more and below ",
        rad_cutoff < least ? "--rad_cutoff=" : "--ang_cutoff=", std::min(rad_cutoff, least), " (Angstrom)"));
  }
  return absl::OkStatus();
}

std::string ChebyshevOptions::ToJson() const {
  OptionsJson json;
  json["type"] = "chebyshev";
  json["species"] = SpeciesToJson(species);
  json["rad_order"] = rad_order;
  json["rad_cutoff"] = rad_cutoff;  // dump() writes the shortest digits that read back as the same double
  json["ang_order"] = ang_order;
  json["ang_cutoff"] = ang_cutoff;
  json["min_cutoff"] = min_cutoff + 0.0;  // -0.0 becomes 0.0
  for (const AngularSet& set : nearer) json[kNearer].push_back({{"ang_order", set.order}, {"ang_cutoff", set.cutoff}});
  return json.dump();
}

absl::StatusOr<ChebyshevOptions> ChebyshevOptions::FromJson(absl::string_view text) {
  ASSIGN_OR_RETURN(const OptionsJson json, ParseOptionsJson(text, "chebyshev", kKeys, kNearer));
  ChebyshevOptions options;
  ASSIGN_OR_RETURN(options.species, SpeciesAt(json));
  ASSIGN_OR_RETURN(options.rad_order, IntegerAt(json, "rad_order"));
  ASSIGN_OR_RETURN(options.rad_cutoff, NumberAt(json, "rad_cutoff"));
  ASSIGN_OR_RETURN(options.ang_order, IntegerAt(json, "ang_order"));
  ASSIGN_OR_RETURN(options.ang_cutoff, NumberAt(json, "ang_cutoff"));
  ASSIGN_OR_RETURN(options.min_cutoff, NumberAt(json, "min_cutoff"));
  if (json.contains(kNearer)) {
    ASSIGN_OR_RETURN(options.nearer, SetsFrom(json.at(kNearer)));
  }
  if (absl::Status status = options.Validate(); !status.ok()) return OptionsJsonError(status.message());
  return options;
}

std::string ChebyshevOptions::AngularOrders() const {
  std::string text = absl::StrCat(ang_order);
  for (const AngularSet& set : nearer) absl::StrAppend(&text, ",", set.order);
  return text;
}

std::string ChebyshevOptions::AngularCutoffs() const {
  std::string text = absl::StrCat(ang_cutoff);
  for (const AngularSet& set : nearer) absl::StrAppend(&text, ",", set.cutoff);
  return text;
}

bool operator==(const ChebyshevOptions& a, const ChebyshevOptions& b) {
  return std::tie(a.species, a.rad_order, a.rad_cutoff, a.ang_order, a.ang_cutoff, a.min_cutoff) ==
             std::tie(b.species, b.rad_order, b.rad_cutoff, b.ang_order, b.ang_cutoff, b.min_cutoff) &&
         Values(a.nearer) == Values(b.nearer);
}

}  // namespace rutile
