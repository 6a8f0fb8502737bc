// Turns files of structures into a file of features: reads, finds neighbors, computes descriptors and writes, as one
// stream.

#ifndef RUTILE_LIB_DESCRIPTOR_FILES_FEATURIZER_H_
#define RUTILE_LIB_DESCRIPTOR_FILES_FEATURIZER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"
#include "lib/neighbor/structure_stream.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

struct FeaturizeOptions : StructureStreamOptions {
  ChebyshevOptions descriptor;
  AngularMethod angular = AngularMethod::kMoments;
  DType precision = DType::kF32;
};

struct FeaturizeStats : StructureStreamStats {
  int64_t pairs = 0;            // neighbors within the cutoff; i -> j and j -> i are two
  int64_t too_close = 0;        // structures with a pair at or below min_cutoff, which the descriptor ignores
  std::string first_too_close;  // the first such structure's name
};

// One structure with its features, valid during the call. Of the two spans of features, the one of the options'
// precision is set.
struct FeaturizedStructure {
  const Structure& structure;
  double weight;
  absl::Span<const uint8_t> species;
  absl::Span<const float> features32;
  absl::Span<const double> features64;
};

// Reads every input (see StreamStructures) and calls `sink` for each structure in order, from one thread. Files of
// neighbors are used as they are and give bit for bit the features of their structures. INVALID_ARGUMENT, too, when a
// file of neighbors was made for another descriptor, or to a smaller cutoff than the descriptor's.
absl::StatusOr<FeaturizeStats> ForEachFeaturized(absl::Span<const std::string> inputs, const FeaturizeOptions& options,
                                                 const std::function<absl::Status(const FeaturizedStructure&)>& sink);

// Writes a file of kind atomistic.features/1 to `output` ("-" is standard output) from the structures that
// ForEachFeaturized reads. The content does not depend on num_threads. `output` appears only if everything succeeded.
absl::StatusOr<FeaturizeStats> Featurize(absl::Span<const std::string> inputs, absl::string_view output,
                                         const FeaturizeOptions& options, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FILES_FEATURIZER_H_
