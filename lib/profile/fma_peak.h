// Kernels that are limited only by the processor's arithmetic or its memory, to measure that limit.

#ifndef RUTILE_LIB_PROFILE_FMA_PEAK_H_
#define RUTILE_LIB_PROFILE_FMA_PEAK_H_

#include <cstddef>
#include <cstdint>

namespace rutile {

// Performs `steps` times ten independent multiply-adds on the widest registers of this machine. Returns the number of
// operations, where a multiply-add counts as two.
double RunFmaFloat(int64_t steps);
double RunFmaDouble(int64_t steps);

// Returns operations per second of one core: the best of several short runs, some 10 ms in all.
double FmaPeakFloat();
double FmaPeakDouble();

// Reads n values, n a multiple of 512. The result depends on all of them.
uint64_t ReadAll(const uint64_t* data, size_t n);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_FMA_PEAK_H_
