// The data check of train: looks for mistakes in the structures of a run before anything is learned from them.

#ifndef RUTILE_TOOLS_TRAIN_DATA_CHECK_SPLIT_H_
#define RUTILE_TOOLS_TRAIN_DATA_CHECK_SPLIT_H_

#include <cstdint>
#include <map>

#include "lib/potential/data/atomic_data.h"
#include "lib/train/options/split.h"

namespace rutile {

// Warns of what lib/data_check finds in the structures of the three sets, each named with its set. Of prepared files,
// which were checked when they were made, only structures that are in two sets are looked for. atomic_energies: eV, by
// atomic number; may be empty. Returns true if it has warned of structures that repeat others.
bool CheckSplit(const AtomicData& data, const std::map<uint8_t, double>& atomic_energies, const Split& split);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_CHECK_SPLIT_H_
