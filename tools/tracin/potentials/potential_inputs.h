// Reads and checks what influence on a potential is computed from.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_INPUTS_H_
#define RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_INPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/atomic_inputs.h"
#include "lib/potential/model/potential_file.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Reads structures: if there is a potential, with its descriptor, and raw ones by the names that it learned from
// (labels, config_key).
absl::StatusOr<AtomicData> ReadData(const std::vector<std::string>& inputs, const std::optional<Potential>& potential,
                                    AtomicDataOptions options);

// Hashes the numbers of the structures that train beside the hash of their files (DataSha256).
std::string StructureExamplesSha256(const std::string& data_sha256, absl::Span<const int64_t> examples);

// Models given instead of checkpoints may differ in their parameters only. INVALID_ARGUMENT naming the first that
// differs from `potential` in more.
absl::Status CheckSameModels(const std::vector<std::string>& paths, const Potential& potential);

// Compares the label keys that prepared files record with those that the model records. INVALID_ARGUMENT if both record
// keys and they differ; warns if one of them records none.
absl::Status CheckRecordedLabels(const Potential& potential, const AtomicData& train, const AtomicData& test);

// INVALID_ARGUMENT naming a file of structures in --train or --test, which no descriptor is known for without --model.
absl::Status CheckKnowDescriptor(const TracinFlags& flags);

// Warns, or with --strict refuses, if a list of training structures without hashes cannot be of the run: the checkpoint
// has a fingerprint of its split. examples: the structures of `train` that the list names. path: of the list, in the
// run's directory.
absl::Status CheckFingerprint(const TracinFlags& flags, const CheckpointSet& checkpoint_set, const AtomicData& train,
                              absl::Span<const int64_t> examples, const std::string& path,
                              const std::string& directory);

// Warns, or with --strict refuses, if the files of --train, whose hash is `data_sha256`, are not those of the run. A
// message alone says so where the files that differ may be those of --validation_data or --test_data of the run, whose
// structures `train` does not have. directory: of the run, if its training structures were found in --train by content;
// "" if not.
absl::Status CheckDataOfRun(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                            const std::string& data_sha256, const AtomicData& train, const std::string& directory);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_INPUTS_H_
