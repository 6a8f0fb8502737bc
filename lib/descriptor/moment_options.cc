#include "lib/descriptor/moment_options.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;  // keeps keys in our order, so that equal options give equal strings

constexpr int kLargestRadial = 32, kLargestL = 4, kLargestEnvelope = 16;
constexpr double kLargestCutoff = 20;
constexpr absl::string_view kKeys[] = {"type",  "species",      "cutoff",   "radial_functions",
                                       "max_l", "radial_basis", "envelope", "min_cutoff"};

absl::Status CheckRange(absl::string_view flag, int value, int smallest, int largest) {
  if (value >= smallest && value <= largest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": expected ", smallest, " to ", largest));
}

absl::Status CheckSpecies(const std::vector<uint8_t>& species) {
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
  return absl::OkStatus();
}

absl::Status JsonError(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("descriptor: ", message));
}

absl::StatusOr<int> IntegerAt(const Json& json, const char* key) {
  const Json& value = json.at(key);
  // Reads as double, so that Validate refuses an integer too large for int, which would otherwise wrap into range.
  if (!value.is_number_integer()) return JsonError(absl::StrCat("\"", key, "\" is not an integer: ", value.dump()));
  const double number = value.get<double>();
  return static_cast<int>(std::clamp<double>(number, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

absl::StatusOr<double> NumberAt(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number()) return JsonError(absl::StrCat("\"", key, "\" is not a number: ", value.dump()));
  return value.get<double>();
}

absl::StatusOr<RadialBasis> BasisAt(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_string()) return JsonError(absl::StrCat("\"", key, "\" is not a name: ", value.dump()));
  const absl::StatusOr<RadialBasis> basis = kRadialBasisNames.Parse(value.get_ref<const std::string&>());
  if (!basis.ok()) return JsonError(absl::StrCat("\"", key, "\": ", basis.status().message()));
  return basis;
}

}  // namespace

absl::Status MomentOptions::Validate() const {
  RETURN_IF_ERROR(CheckSpecies(species));
  if (!(cutoff > 0 && cutoff <= kLargestCutoff)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cutoff=", cutoff, ": expected a distance above 0 and up to ", kLargestCutoff, " Angstrom"));
  }
  RETURN_IF_ERROR(CheckRange("radial_functions", num_radial, 1, kLargestRadial));
  RETURN_IF_ERROR(CheckRange("max_l", max_l, 0, kLargestL));
  if (basis != RadialBasis::kBessel && basis != RadialBasis::kChebyshev) {
    return absl::InvalidArgumentError(
        absl::StrCat("--radial_basis: value ", static_cast<int>(basis), ", expected bessel or chebyshev"));
  }
  RETURN_IF_ERROR(CheckRange("envelope", envelope, 1, kLargestEnvelope));
  if (!(min_cutoff >= 0 && min_cutoff < cutoff)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--min_cutoff=", min_cutoff, ": expected 0 or more and below --cutoff=", cutoff, " (Angstrom)"));
  }
  return absl::OkStatus();
}

std::string MomentOptions::ToJson() const {
  Json json;
  json["type"] = "moments";
  json["species"] = Json::array();
  for (const uint8_t element : species) json["species"].push_back(std::string(ElementSymbol(element)));
  json["cutoff"] = cutoff;  // dump() writes the shortest digits that read back as the same double
  json["radial_functions"] = num_radial;
  json["max_l"] = max_l;
  json["radial_basis"] = std::string(kRadialBasisNames.Name(basis));
  json["envelope"] = envelope;
  json["min_cutoff"] = min_cutoff + 0.0;  // -0.0 becomes 0.0
  return json.dump();
}

absl::StatusOr<MomentOptions> MomentOptions::FromJson(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return JsonError("not a JSON object");
  for (const absl::string_view key : kKeys) {
    if (!json.contains(std::string(key))) return JsonError(absl::StrCat("\"", key, "\" is missing"));
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
      return JsonError(absl::StrCat("\"", key, "\" is not known: was the file made by a newer rutile?"));
    }
  }
  if (json.at("type") != "moments") {
    return JsonError(absl::StrCat("type ", json.at("type").dump(), ", expected \"moments\""));
  }
  MomentOptions options;
  if (!json.at("species").is_array()) return JsonError("\"species\" is not a list of elements");
  for (const Json& symbol : json.at("species")) {
    const uint8_t element = symbol.is_string() ? AtomicNumber(symbol.get_ref<const std::string&>()) : 0;
    if (element == 0) return JsonError(absl::StrCat("species ", symbol.dump(), " is not an element"));
    options.species.push_back(element);
  }
  ASSIGN_OR_RETURN(options.cutoff, NumberAt(json, "cutoff"));
  ASSIGN_OR_RETURN(options.num_radial, IntegerAt(json, "radial_functions"));
  ASSIGN_OR_RETURN(options.max_l, IntegerAt(json, "max_l"));
  ASSIGN_OR_RETURN(options.basis, BasisAt(json, "radial_basis"));
  ASSIGN_OR_RETURN(options.envelope, IntegerAt(json, "envelope"));
  ASSIGN_OR_RETURN(options.min_cutoff, NumberAt(json, "min_cutoff"));
  if (absl::Status status = options.Validate(); !status.ok()) return JsonError(status.message());
  return options;
}

bool operator==(const MomentOptions& a, const MomentOptions& b) {
  return std::tie(a.species, a.cutoff, a.num_radial, a.max_l, a.basis, a.envelope, a.min_cutoff) ==
         std::tie(b.species, b.cutoff, b.num_radial, b.max_l, b.basis, b.envelope, b.min_cutoff);
}

}  // namespace rutile
