// Under which names, and in which units, the labels of a data set were read. Files that are made of the data, and
// models that learned from them, record it in their metadata, so that whoever reads other structures for them reads the
// same labels.

#ifndef RUTILE_LIB_STRUCTURE_LABEL_KEYS_H_
#define RUTILE_LIB_STRUCTURE_LABEL_KEYS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// By name of the flag that says it: energy_key, force_key, stress_key, virial_key, runner_units, xsf_forces. What has
// its default is left out.
using LabelKeys = std::map<std::string, std::string>;

inline constexpr absl::string_view kLabelKeyNames[] = {"energy_key", "force_key",    "stress_key",
                                                       "virial_key", "runner_units", "xsf_forces"};

// Selects those entries of a file's metadata.
inline LabelKeys LabelKeysOf(const std::map<std::string, std::string>& metadata) {
  LabelKeys keys;
  for (const absl::string_view name : kLabelKeyNames) {
    const auto found = metadata.find(std::string(name));
    if (found != metadata.end()) keys.insert(*found);
  }
  return keys;
}

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_LABEL_KEYS_H_
