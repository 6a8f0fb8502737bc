// From files of structures to a file of neighbors, as one stream.

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

struct CacheNeighborsOptions : StructureStreamOptions {
  double cutoff = 0;             // Angstrom, above 0 and at most kLongestCutoff
  double triplet_cutoff = 0;     // Angstrom, at most the cutoff; 0: no triplets
  std::optional<DType> vectors;  // F32 or F64: r_ij are written, too
  std::vector<uint8_t> species;  // atomic numbers, of the descriptor; empty: the elements in the order of appearance
  std::string descriptor;        // JSON to record, or ""
  double min_cutoff = 0;         // Angstrom: structures with a pair at or below it are counted
};

struct CacheNeighborsStats : StructureStreamStats {
  int64_t pairs = 0;  // i -> j and j -> i
  int64_t triplets = 0;
  int64_t too_close = 0;        // structures with a pair at or below min_cutoff
  std::string first_too_close;  // its name
};

// Writes a file of kind atomistic.neighbors/1 to `output` ("-" is standard output). The content does not depend on
// num_threads. Nothing appears under `output` unless all succeeded. INVALID_ARGUMENT also for a file of neighbors as
// input: its structures were searched already.
absl::StatusOr<CacheNeighborsStats> CacheNeighbors(absl::Span<const std::string> inputs, absl::string_view output,
                                                   const CacheNeighborsOptions& options, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_CACHE_NEIGHBORS_H_
