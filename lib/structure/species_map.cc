#include "lib/structure/species_map.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

constexpr uint8_t kNone = 255;

}  // namespace

SpeciesMap::SpeciesMap(absl::Span<const uint8_t> species, bool of_model)
    : species_(species.begin(), species.end()), of_model_(of_model) {
  std::fill(std::begin(index_), std::end(index_), kNone);
  for (size_t i = 0; i < species.size(); ++i) index_[species[i]] = static_cast<uint8_t>(i);
}

absl::Status SpeciesMap::Map(const Structure& structure, std::vector<uint8_t>* indices) const {
  indices->resize(structure.element.size());
  uint8_t worst = 0;
  for (size_t i = 0; i < indices->size(); ++i) {
    (*indices)[i] = index_[structure.element[i]];
    worst = std::max(worst, (*indices)[i]);
  }
  if (worst != kNone) return absl::OkStatus();
  const auto atom = std::find(indices->begin(), indices->end(), kNone) - indices->begin();
  const std::string known = absl::StrJoin(
      species_, ",", [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
  const absl::string_view symbol = ElementSymbol(structure.element[atom]);
  const std::string more = absl::StrCat("--species=", known, ",", symbol);
  const std::string remedy =
      of_model_ ? absl::StrCat("the model's species ", known, ": leave the structure out, or train one with ", more)
                : absl::StrCat("the species ", known, ": pass ", more, " or leave the structure out");
  return absl::InvalidArgumentError(
      absl::StrCat(structure.name, ": atom ", atom + 1, " is ", symbol, ", which is not among ", remedy));
}

}  // namespace rutile
