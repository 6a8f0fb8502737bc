// What this build of train can do, for --version.

#ifndef RUTILE_TOOLS_TRAIN_DATA_FEATURES_H_
#define RUTILE_TOOLS_TRAIN_DATA_FEATURES_H_

namespace rutile {

// One line: the version of LibTorch, whether there are kernels for GPUs, and AMX. May be read before any library
// begins.
extern const char kTrainFeatures[];

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_FEATURES_H_
