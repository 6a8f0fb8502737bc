// Which flags ask for what LibTorch alone does.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_LIBTORCH_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_LIBTORCH_FLAGS_H_

#include <string>

namespace rutile {

// Returns the first flag, or the launcher of several processes, that training needs LibTorch for, as it would be
// written: "--compile_mode=none". "" if the kernels do all that the flags ask for, but for the check of the first batch
// (--check_gradient): one process trains, on the CPU or by kernels of GPUs. It follows from flags and environment
// alone, whatever the data (NeedLibTorch of tools/train/libtorch.h is for those); values are not checked.
std::string WhyLibTorch();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_LIBTORCH_FLAGS_H_
