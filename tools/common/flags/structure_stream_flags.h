// What featurize and cache-neighbors have in common: from flags to the options of a stream of structures, and what is
// said of it in the end.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_STREAM_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_STREAM_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/files/recorded_inputs.h"
#include "lib/neighbor/structure_stream.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// From --shard, --atomic_energies, --threads, the flags of selection_flags.h and of structure_flags.h. Flags that are
// not given are as the files of neighbors among the inputs recorded them.
absl::Status StreamOptionsFromFlags(const RecordedInputs& recorded, StructureStreamOptions* options);

// Adds to the metadata of the output by which names and units its labels are read: from flags, or as the files of
// neighbors among the inputs recorded them; nothing where inputs differ.
void DescribeLabelKeys(const RecordedInputs& recorded, absl::Span<const std::string> inputs, Metadata* metadata);

// Warns if no structure has an energy, of keys that no frame has, species that no atom is, and of energies that do not
// fit the atomic energies. `result`: "features". species: atomic numbers, of the descriptor; none where there is no
// descriptor.
void PrintStreamWarnings(absl::string_view result, const StructureStreamOptions& options,
                         absl::Span<const uint8_t> species, const StructureStreamStats& stats);

// "217 with energy, 217 with forces, 0 with stress".
std::string DescribeLabels(const StructureStreamStats& stats);

// Warns of structures with atoms that the descriptor does not see.
void PrintNearWarning(int64_t structures, const std::string& first, double min_cutoff);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_STREAM_FLAGS_H_
