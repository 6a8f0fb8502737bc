// Maps elements to their indices in a list of species.

#ifndef RUTILE_LIB_STRUCTURE_SPECIES_MAP_H_
#define RUTILE_LIB_STRUCTURE_SPECIES_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/structure/structure.h"

namespace rutile {

// Finds the species index of each atom, for a descriptor's species. INVALID_ARGUMENT names the structure, the element
// and the remedy; of_model tells it that the species are those of a trained model, which no flag changes.
class SpeciesMap {
 public:
  explicit SpeciesMap(absl::Span<const uint8_t> species, bool of_model = false);
  absl::Status Map(const Structure& structure, std::vector<uint8_t>* indices) const;

 private:
  std::vector<uint8_t> species_;
  bool of_model_;
  uint8_t index_[256];  // by atomic number; kNone if the descriptor has no such species
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_SPECIES_MAP_H_
