// Numbers that say at a glance what is in a tensor.

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_STATISTICS_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_STATISTICS_H_

#include <cstdint>
#include <string>

#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Of the values that are numbers; all 0 when there are none.
struct TensorStatistics {
  int64_t num_numbers = 0;
  int64_t num_nan = 0;
  double min = 0, max = 0, mean = 0;
};

TensorStatistics ComputeStatistics(const Tensor& tensor);

// Element i of any type, half types included. A long double holds all of them exactly, 64-bit integers too.
long double ElementAt(const Tensor& tensor, int64_t i);

// What //lib/tensorfile:info prints: metadata (values cut to a line and checksums left out unless `full`), then a row
// for each tensor. Control characters are escaped: files come from anywhere.
std::string DescribeTensorFile(const TensorFile& file, bool full);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_STATISTICS_H_
