// Compares two tensor files.

#ifndef RUTILE_LIB_TENSORFILE_INSPECT_TENSOR_DIFF_H_
#define RUTILE_LIB_TENSORFILE_INSPECT_TENSOR_DIFF_H_

#include <string>
#include <vector>

#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Tolerances of a comparison.
struct TensorDiffOptions {
  double rtol = 0;        // relative tolerance: values are equal if |a - b| <= atol + rtol |b|
  double atol = 0;        //
  bool metadata = false;  // compare metadata too (checksums excepted: they follow the values)
};

// Returns one line for each difference, none if the files are equal: a tensor that one file lacks, another type or
// shape, and the largest difference of values. NaN equals NaN and an infinity equals itself; neither is close to any
// other value. The order of tensors is ignored.
std::vector<std::string> DiffTensorFiles(const TensorFile& a, const TensorFile& b, const TensorDiffOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_INSPECT_TENSOR_DIFF_H_
