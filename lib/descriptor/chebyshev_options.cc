#include "lib/descriptor/chebyshev_options.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;  // keeps the keys in our order: equal options give equal strings

constexpr int kLargestOrder = 32;
constexpr double kLargestCutoff = 20;
constexpr absl::string_view kKeys[] = {"type",      "species",    "rad_order", "rad_cutoff",
                                       "ang_order", "ang_cutoff", "min_cutoff"};

absl::Status CheckOrder(absl::string_view flag, int order) {
  if (order >= 0 && order <= kLargestOrder) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", order, ": expected 0 to ", kLargestOrder));
}

absl::Status CheckCutoff(absl::string_view flag, double cutoff) {
  if (cutoff > 0 && cutoff <= kLargestCutoff) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", cutoff, ": expected a distance above 0 and up to ", kLargestCutoff, " Angstrom"));
}

absl::Status JsonError(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("descriptor: ", message));
}

absl::StatusOr<int> IntegerAt(const Json& json, const char* key) {
  const Json& value = json.at(key);
  // Through double: an integer too large for int is then refused by Validate, not wrapped into range.
  if (!value.is_number_integer()) return JsonError(absl::StrCat("\"", key, "\" is not an integer: ", value.dump()));
  const double number = value.get<double>();
  return static_cast<int>(std::clamp<double>(number, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

absl::StatusOr<double> NumberAt(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number()) return JsonError(absl::StrCat("\"", key, "\" is not a number: ", value.dump()));
  return value.get<double>();
}

}  // namespace

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
  if (species.empty()) return absl::InvalidArgumentError("--species is empty: name the elements, such as Ti,O");
  for (auto element = species.begin(); element != species.end(); ++element) {
    if (*element < 1 || *element > 118) {
      return absl::InvalidArgumentError(
          absl::StrCat("--species: atomic number ", int{*element}, ", expected 1 to 118"));
    }
    if (std::find(species.begin(), element, *element) != element) {
      return absl::InvalidArgumentError(
          absl::StrCat("--species names ", ElementSymbol(*element), " twice: name each element once"));
    }
  }
  RETURN_IF_ERROR(CheckOrder("rad_order", rad_order));
  RETURN_IF_ERROR(CheckOrder("ang_order", ang_order));
  RETURN_IF_ERROR(CheckCutoff("rad_cutoff", rad_cutoff));
  RETURN_IF_ERROR(CheckCutoff("ang_cutoff", ang_cutoff));
  if (!(min_cutoff >= 0 && min_cutoff < std::min(rad_cutoff, ang_cutoff))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--min_cutoff=", min_cutoff, ": expected 0 or more and below ",
        rad_cutoff < ang_cutoff ? "--rad_cutoff=" : "--ang_cutoff=", std::min(rad_cutoff, ang_cutoff), " (Angstrom)"));
  }
  return absl::OkStatus();
}

std::string ChebyshevOptions::ToJson() const {
  Json json;
  json["type"] = "chebyshev";
  json["species"] = Json::array();
  for (const uint8_t element : species) json["species"].push_back(std::string(ElementSymbol(element)));
  json["rad_order"] = rad_order;
  json["rad_cutoff"] = rad_cutoff;  // dump() writes the shortest digits that read back as the same double
  json["ang_order"] = ang_order;
  json["ang_cutoff"] = ang_cutoff;
  json["min_cutoff"] = min_cutoff + 0.0;  // -0.0 becomes 0.0
  return json.dump();
}

absl::StatusOr<ChebyshevOptions> ChebyshevOptions::FromJson(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return JsonError("not a JSON object");
  for (const absl::string_view key : kKeys) {
    if (!json.contains(std::string(key))) return JsonError(absl::StrCat("\"", key, "\" is missing"));
  }
  if (json.size() != std::size(kKeys)) {
    for (const auto& [key, value] : json.items()) {
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
        return JsonError(absl::StrCat("\"", key, "\" is not known: was the file made by a newer rutile?"));
      }
    }
  }
  if (json.at("type") != "chebyshev") {
    return JsonError(absl::StrCat("type ", json.at("type").dump(), ", expected \"chebyshev\""));
  }
  ChebyshevOptions options;
  if (!json.at("species").is_array()) return JsonError("\"species\" is not a list of elements");
  for (const Json& symbol : json.at("species")) {
    const uint8_t element = symbol.is_string() ? AtomicNumber(symbol.get_ref<const std::string&>()) : 0;
    if (element == 0) return JsonError(absl::StrCat("species ", symbol.dump(), " is not an element"));
    options.species.push_back(element);
  }
  ASSIGN_OR_RETURN(options.rad_order, IntegerAt(json, "rad_order"));
  ASSIGN_OR_RETURN(options.rad_cutoff, NumberAt(json, "rad_cutoff"));
  ASSIGN_OR_RETURN(options.ang_order, IntegerAt(json, "ang_order"));
  ASSIGN_OR_RETURN(options.ang_cutoff, NumberAt(json, "ang_cutoff"));
  ASSIGN_OR_RETURN(options.min_cutoff, NumberAt(json, "min_cutoff"));
  if (absl::Status status = options.Validate(); !status.ok()) return JsonError(status.message());
  return options;
}

bool operator==(const ChebyshevOptions& a, const ChebyshevOptions& b) {
  return std::tie(a.species, a.rad_order, a.rad_cutoff, a.ang_order, a.ang_cutoff, a.min_cutoff) ==
         std::tie(b.species, b.rad_order, b.rad_cutoff, b.ang_order, b.ang_cutoff, b.min_cutoff);
}

}  // namespace rutile
