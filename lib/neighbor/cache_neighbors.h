// Turns files of structures into a file of neighbors, as one stream.

#ifndef RUTILE_LIB_NEIGHBOR_CACHE_NEIGHBORS_H_
#define RUTILE_LIB_NEIGHBOR_CACHE_NEIGHBORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/neighbor/structure_stream.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Options of CacheNeighbors.
struct CacheNeighborsOptions : StructureStreamOptions {
  double cutoff = 0;             // Angstrom, above 0 and at most kLongestCutoff
  double triplet_cutoff = 0;     // Angstrom, at most the cutoff; 0: no triplets
  std::optional<DType> vectors;  // also writes r_ij, as F32 or F64
  std::vector<uint8_t> species;  // the descriptor's atomic numbers; empty: the elements in order of appearance
  std::string descriptor;        // JSON to record, or ""
  double min_cutoff = 0;         // Angstrom; structures with a pair at or below it are counted
};

// Counts for the tool's summary.
struct CacheNeighborsStats : StructureStreamStats {
  int64_t pairs = 0;  // i -> j and j -> i
  int64_t triplets = 0;
  int64_t too_close = 0;        // structures with a pair at or below min_cutoff
  std::string first_too_close;  // name of the first of them
};

// Writes a file of kind atomistic.neighbors/1 to `output` ("-" is standard output). The content does not depend on
// num_threads. No file appears under `output` unless everything succeeded. Also INVALID_ARGUMENT for a file of
// neighbors as input, because its structures were searched already.
absl::StatusOr<CacheNeighborsStats> CacheNeighbors(absl::Span<const std::string> inputs, absl::string_view output,
                                                   const CacheNeighborsOptions& options, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_CACHE_NEIGHBORS_H_
