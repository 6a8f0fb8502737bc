// The checks of a data set. Each appends its findings.

#ifndef RUTILE_LIB_DATA_CHECK_CHECKS_H_
#define RUTILE_LIB_DATA_CHECK_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/data_check/composition_fit.h"
#include "lib/data_check/data_check.h"
#include "lib/data_check/frame_facts.h"
#include "lib/data_check/work_check.h"

namespace rutile {

// "distance": atoms nearer than half of their covalent radii, structures stretched as lengths in Bohr are, coordinates
// that look fractional.
void CheckDistances(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings);

// "energy": energies far from what the composition explains; total energies that look like another unit; atomic
// energies that bind too much or not at all. atomic_energies: as given, or empty; then those of isolated atoms count.
void CheckEnergies(absl::Span<const FrameFacts> frames, const CompositionFit& fit,
                   const std::map<uint8_t, double>& atomic_energies, std::vector<DataFinding>* findings);

// "mixed": energies of equal composition that are of two kinds, by unit or reference.
void CheckMixedEnergies(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings);

// "force", "stress": outliers and implausible sizes.
void CheckForcesAndStresses(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings);

// "zero force": structures with atoms whose forces were set to zero, as constraints do.
void CheckZeroForces(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings);

// "work": energies, forces and stresses that do not fit together.
void CheckWork(const WorkCheck& work, std::vector<DataFinding>* findings);

// "mixed": files (SourceOf) whose forces do not fit their energies, where those of all structures together do. work: by
// source.
void CheckMixedForces(absl::Span<const FrameFacts> frames, const std::map<std::string, WorkCheck>& work,
                      std::vector<DataFinding>* findings);

// Returns the file that a structure was read from, or for a file of a single structure its folder.
std::string SourceOf(const FrameFacts& frame);

// "coverage": labels that some structures have and others lack.
void CheckCoverage(absl::Span<const FrameFacts> frames, const DataCheckOptions& options,
                   std::vector<DataFinding>* findings);

// "keys": labels that were read under different names in different structures.
void CheckKeys(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings);

// "duplicate": equal structures, those on both sides of a split, and those with contradicting energies.
void CheckDuplicates(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings);

// "duplicate": those on both sides of a split alone.
void CheckDuplicatesAcrossParts(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings);

// Returns up to three of these structures by name, with their parts: "a.xyz#1, a.xyz#7 (validation) and 4 more".
std::string NamesOf(absl::Span<const FrameFacts> frames, absl::Span<const int64_t> indices);

// Returns "3 of 20 structures".
std::string CountOf(absl::Span<const FrameFacts> frames, size_t count);

}  // namespace rutile

#endif  // RUTILE_LIB_DATA_CHECK_CHECKS_H_
