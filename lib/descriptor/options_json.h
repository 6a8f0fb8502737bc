// Reads the options of descriptors from the JSON of file metadata, and checks what all descriptors have. Errors of
// reading are INVALID_ARGUMENT and begin with "descriptor: ".

#ifndef RUTILE_LIB_DESCRIPTOR_OPTIONS_JSON_H_
#define RUTILE_LIB_DESCRIPTOR_OPTIONS_JSON_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"

namespace rutile {

using OptionsJson = nlohmann::ordered_json;  // keeps keys in our order, so that equal options give equal strings

// INVALID_ARGUMENT naming --species: none, no element, or one that is there twice.
absl::Status CheckSpecies(absl::Span<const uint8_t> species);
// INVALID_ARGUMENT naming the flag: not above 0 and up to kLongestCutoff.
absl::Status CheckCutoff(absl::string_view flag, double cutoff);
// INVALID_ARGUMENT naming the flag: outside [smallest, largest].
absl::Status CheckInteger(absl::string_view flag, int value, int smallest, int largest);

absl::Status OptionsJsonError(absl::string_view message);
// Parses an object of this "type" that has all `keys`, and none but these and, unless it is empty, `optional_key`.
absl::StatusOr<OptionsJson> ParseOptionsJson(absl::string_view text, absl::string_view type,
                                             absl::Span<const absl::string_view> keys,
                                             absl::string_view optional_key = "");
// Integers beyond those of int become its largest or smallest, which the ranges of Validate refuse.
absl::StatusOr<int> IntegerAt(const OptionsJson& json, const char* key);
absl::StatusOr<double> NumberAt(const OptionsJson& json, const char* key);
// Under the key "species" there is a list of symbols.
absl::StatusOr<std::vector<uint8_t>> SpeciesAt(const OptionsJson& json);
OptionsJson SpeciesToJson(absl::Span<const uint8_t> species);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_OPTIONS_JSON_H_
