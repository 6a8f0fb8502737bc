// Kernels that do nothing but what a processor or its memory is limited by, to find that limit.

#ifndef RUTILE_LIB_PROFILE_FMA_PEAK_H_
#define RUTILE_LIB_PROFILE_FMA_PEAK_H_

#include <cstddef>
#include <cstdint>

namespace rutile {

// Does `steps` times ten independent multiply-adds of the widest registers here; returns the operations, an FMA counted
// as two.
double RunFmaFloat(int64_t steps);
double RunFmaDouble(int64_t steps);

// Operations per second of one core: the best of several short runs, some 10 ms in all.
double FmaPeakFloat();
double FmaPeakDouble();

// Reads n numbers, n a multiple of 512. The result depends on all of them.
uint64_t ReadAll(const uint64_t* data, size_t n);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_FMA_PEAK_H_
