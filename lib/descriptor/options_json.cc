#include "lib/descriptor/options_json.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/element.h"

namespace rutile {

absl::Status CheckSpecies(absl::Span<const uint8_t> species) {
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

absl::Status CheckCutoff(absl::string_view flag, double cutoff) {
  if (cutoff > 0 && cutoff <= kLongestCutoff) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", cutoff, ": expected a distance above 0 and up to ", kLongestCutoff, " Angstrom"));
}

absl::Status CheckInteger(absl::string_view flag, int value, int smallest, int largest) {
  if (value >= smallest && value <= largest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": expected ", smallest, " to ", largest));
}

absl::Status OptionsJsonError(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("descriptor: ", message));
}

absl::StatusOr<OptionsJson> ParseOptionsJson(absl::string_view text, absl::string_view type,
                                             absl::Span<const absl::string_view> keys, absl::string_view optional_key) {
  OptionsJson json = OptionsJson::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return OptionsJsonError("not a JSON object");
  for (const absl::string_view key : keys) {
    if (!json.contains(std::string(key))) return OptionsJsonError(absl::StrCat("\"", key, "\" is missing"));
  }
  for (const auto& [key, value] : json.items()) {
    const bool is_optional = !optional_key.empty() && key == optional_key;
    if (!is_optional && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return OptionsJsonError(absl::StrCat("\"", key, "\" is not known: was the file made by a newer rutile?"));
    }
  }
  if (json.at("type") != std::string(type)) {
    return OptionsJsonError(absl::StrCat("type ", json.at("type").dump(), ", expected \"", type, "\""));
  }
  return json;
}

absl::StatusOr<int> IntegerAt(const OptionsJson& json, const char* key) {
  const OptionsJson& value = json.at(key);
  if (!value.is_number_integer()) {
    return OptionsJsonError(absl::StrCat("\"", key, "\" is not an integer: ", value.dump()));
  }
  // Read as double, because an integer too large for int would wrap into the range.
  const double number = value.get<double>();
  return static_cast<int>(std::clamp<double>(number, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

absl::StatusOr<double> NumberAt(const OptionsJson& json, const char* key) {
  const OptionsJson& value = json.at(key);
  if (!value.is_number()) return OptionsJsonError(absl::StrCat("\"", key, "\" is not a number: ", value.dump()));
  return value.get<double>();
}

absl::StatusOr<std::vector<uint8_t>> SpeciesAt(const OptionsJson& json) {
  if (!json.at("species").is_array()) return OptionsJsonError("\"species\" is not a list of elements");
  std::vector<uint8_t> species;
  for (const OptionsJson& symbol : json.at("species")) {
    const uint8_t element = symbol.is_string() ? AtomicNumber(symbol.get_ref<const std::string&>()) : 0;
    if (element == 0) return OptionsJsonError(absl::StrCat("species ", symbol.dump(), " is not an element"));
    species.push_back(element);
  }
  return species;
}

OptionsJson SpeciesToJson(absl::Span<const uint8_t> species) {
  OptionsJson list = OptionsJson::array();
  for (const uint8_t element : species) list.push_back(std::string(ElementSymbol(element)));
  return list;
}

}  // namespace rutile
