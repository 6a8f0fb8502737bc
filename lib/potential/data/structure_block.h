// Reads files of structures into memory as columns.

#ifndef RUTILE_LIB_POTENTIAL_DATA_STRUCTURE_BLOCK_H_
#define RUTILE_LIB_POTENTIAL_DATA_STRUCTURE_BLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/file/line_reader.h"
#include "lib/potential/data/atomic_block.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct StructureBlockOptions {
  std::vector<uint8_t> species;  // atomic numbers, which `species` of the block indexes
  StructureReaderOptions reader;
  std::string config_key = "config_type";
  std::string weight_key;  // key of a frame with its weight; "" for no weights
};

// Reads all frames. INVALID_ARGUMENT: the reader's errors, an element that is not among the species, a weight that is
// not a number >= 0. A frame without the weight key weighs 1; the block has no weights when no frame has the key.
absl::StatusOr<AtomicBlock> BlockFromStructures(LineReader lines, const StructureBlockOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_STRUCTURE_BLOCK_H_
