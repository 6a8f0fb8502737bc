// Reads structures to predict, one after another, from raw structures, features or neighbors.

#ifndef RUTILE_LIB_POTENTIAL_DATA_PREDICTION_SOURCE_H_
#define RUTILE_LIB_POTENTIAL_DATA_PREDICTION_SOURCE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/neighbor/pair_view.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct SourceStructure {
  Structure structure;
  std::string config_type;              // "" if it has none
  std::shared_ptr<const void> owner;    // keeps alive the memory of pairs and spans, if the caller sets it
  bool has_pairs = false;               // if true, `pairs` is set
  PairView pairs;                       // to at least the descriptor's cutoff
  absl::Span<const float> features32;   // [N, F], or empty
  absl::Span<const double> features64;  // [N, F], or empty
};

class PredictionSource {
 public:
  // Opens `path`: a file of kind atomistic.features/1 or atomistic.neighbors/1, or structures ("-" for standard input).
  // config_key: the key of raw structures whose value is their config type, where they have it; else config_type is.
  // INVALID_ARGUMENT: another kind of file, features of another descriptor, neighbors to a smaller cutoff than the
  // descriptor's.
  static absl::StatusOr<std::unique_ptr<PredictionSource>> Open(const std::string& path,
                                                                const DescriptorOptions& descriptor,
                                                                const StructureReaderOptions& options,
                                                                const std::string& config_key = "config_type");
  virtual ~PredictionSource() = default;

  // Fills `item` with the next structure for which `wants` returns true, or returns false at the end. `wants` is called
  // once for each structure in the source, with its config type. The memory of pairs and spans lives as long as the
  // source.
  virtual absl::StatusOr<bool> Next(const std::function<bool(const std::string& config_type)>& wants,
                                    SourceStructure* item) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_PREDICTION_SOURCE_H_
