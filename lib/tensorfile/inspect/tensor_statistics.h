// Summarizes the values of tensors, for the program //lib/tensorfile:info.

#ifndef RUTILE_LIB_TENSORFILE_INSPECT_TENSOR_STATISTICS_H_
#define RUTILE_LIB_TENSORFILE_INSPECT_TENSOR_STATISTICS_H_

#include <cstdint>
#include <string>

#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Minimum, maximum and mean of the values that are numbers; all 0 if there are none.
struct TensorStatistics {
  int64_t num_numbers = 0;
  int64_t num_nan = 0;
  double min = 0, max = 0, mean = 0;
};

// Computes the statistics of a tensor of any type.
TensorStatistics ComputeStatistics(const Tensor& tensor);

// Returns element i of a tensor of any type, half types included. A long double holds all of them exactly, 64-bit
// integers too.
long double ElementAt(const Tensor& tensor, int64_t i);

// Returns the output of //lib/tensorfile:info: metadata (values cut to a line and checksums left out unless `full`),
// then a row for each tensor. Control characters are escaped, because files may come from anyone.
std::string DescribeTensorFile(const TensorFile& file, bool full);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_INSPECT_TENSOR_STATISTICS_H_
