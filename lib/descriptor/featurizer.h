// From files of structures to a file of features: reading, neighbors, descriptors and writing as one stream.

#ifndef RUTILE_LIB_DESCRIPTOR_FEATURIZER_H_
#define RUTILE_LIB_DESCRIPTOR_FEATURIZER_H_

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
  int64_t pairs = 0;            // neighbors within the cutoff, i -> j and j -> i
  int64_t too_close = 0;        // structures with a pair at or below min_cutoff, which the descriptor does not see
  std::string first_too_close;  // its name
};

// One structure with its features, valid during the call. The features are in the span of the options' precision.
struct FeaturizedStructure {
  const Structure& structure;
  double weight;
  absl::Span<const uint8_t> species;
  absl::Span<const float> features32;
  absl::Span<const double> features64;
};

// Reads every input (see StreamStructures) and calls `sink` for each structure in order, from one thread. Files of
// neighbors are used as they are: the features are bit for bit those of the structures. INVALID_ARGUMENT, too, when
// one was made for another descriptor, or to a smaller cutoff than the descriptor's.
absl::StatusOr<FeaturizeStats> ForEachFeaturized(absl::Span<const std::string> inputs, const FeaturizeOptions& options,
                                                 const std::function<absl::Status(const FeaturizedStructure&)>& sink);

// The same, writing a file of kind atomistic.features/1 to `output` ("-" is standard output).
// The content does not depend on num_threads. Nothing appears under `output` unless all succeeded.
absl::StatusOr<FeaturizeStats> Featurize(absl::Span<const std::string> inputs, absl::string_view output,
                                         const FeaturizeOptions& options, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FEATURIZER_H_
