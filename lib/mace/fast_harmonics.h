// Real spherical harmonics with their gradients, for inner loops: those of lib/descriptor/moment_harmonics.h, by
// recurrences, without memory of their own.

#ifndef RUTILE_LIB_MACE_FAST_HARMONICS_H_
#define RUTILE_LIB_MACE_FAST_HARMONICS_H_

namespace rutile {

class FastHarmonics {
 public:
  static constexpr int kLargestL = 4;

  // max_l: 0 to kLargestL.
  explicit FastHarmonics(int max_l);

  // unit: [3], of length 1. value: [(max_l + 1)^2]. gradient: [(max_l + 1)^2, 3], the derivative of Y(v / |v|) by v
  // where |v| = 1, or null. Both are overwritten.
  void Compute(const double* unit, double* value, double* gradient) const;

 private:
  const int max_l_;
  double norm_[kLargestL + 1][kLargestL + 1];  // of l and |m|
};

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_FAST_HARMONICS_H_
