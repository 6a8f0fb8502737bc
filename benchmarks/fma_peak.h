// How many floating-point operations a second one core does when it does nothing but multiply and add.

#ifndef RUTILE_BENCHMARKS_FMA_PEAK_H_
#define RUTILE_BENCHMARKS_FMA_PEAK_H_

namespace rutile {

// Operations per second of the widest instruction set here, an FMA counted as two: the best of several short runs.
double FmaPeakDouble();
double FmaPeakFloat();

}  // namespace rutile

#endif  // RUTILE_BENCHMARKS_FMA_PEAK_H_
