// Whether two tensor files hold the same.

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_DIFF_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_DIFF_H_

#include <string>
#include <vector>

#include "lib/tensorfile/tensor_file.h"

namespace rutile {

struct TensorDiffOptions {
  double rtol = 0;        // values are equal when |a - b| <= atol + rtol |b|
  double atol = 0;        //
  bool metadata = false;  // compare metadata too (checksums excepted: they follow the values)
};

// One line for each difference, none when the files are equal: a tensor that one lacks, another type or shape, and the
// worst of the values that differ. NaN equals NaN and an infinity equals itself; neither is near anything else. The
// order of tensors does not count.
std::vector<std::string> DiffTensorFiles(const TensorFile& a, const TensorFile& b, const TensorDiffOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_DIFF_H_
