#include "lib/descriptor/kernels/moments/moment_tables.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {
namespace {

// Returns the bytes of an array in whole cache lines, as vectors are loaded from multiples of their size.
template <typename Value>
int64_t WholeLines(int64_t count) {
  return RoundUp(count * static_cast<int64_t>(sizeof(Value)), kBufferAlignment);
}

// Copies an array to *to, moves *to behind it, and returns the copy.
template <typename Value>
const Value* Pack(const Value* from, int64_t count, char** to) {
  auto* const copy = reinterpret_cast<Value*>(*to);
  std::copy_n(from, count, copy);
  *to += WholeLines<Value>(count);
  return copy;
}

}  // namespace

template <typename T>
MomentTables<T>::MomentTables(const MomentOptions& options)
    : num_species(static_cast<int>(options.species.size())),
      num_radial(options.num_radial),
      max_l(options.max_l),
      num_harmonics(options.num_harmonics()),
      num_features(options.num_features()),
      row(RoundUp(num_harmonics, kMomentRowUnit)),
      is_bessel(options.basis == RadialBasis::kBessel),
      cutoff_square(options.cutoff * options.cutoff),
      min_square(options.min_cutoff * options.min_cutoff),
      cutoff(static_cast<T>(options.cutoff)),
      inverse_cutoff(static_cast<T>(1 / options.cutoff)),
      envelope(options.envelope),
      envelope_slope(static_cast<T>(-0.5 * envelope * (envelope + 1) * (envelope + 2) / options.cutoff)),
      bessel_norm(static_cast<T>(std::sqrt(2 / options.cutoff))) {
  CHECK(options.Validate().ok()) << options.Validate();
  for (int k = 0; k < kMaxMomentEnvelope; ++k) series[k] = static_cast<T>((k + 1) * (k + 2) / 2);
  for (int m = 0; m <= kMaxMomentL; ++m) {
    double odd = 1;  // (2m - 1)!!
    for (int k = 2 * m - 1; k > 1; k -= 2) odd *= k;
    first[m] = static_cast<T>(HarmonicNorm(m, m) * odd);
    for (int l = 0; l <= kMaxMomentL; ++l) {
      up[l][m] = down[l][m] = slope[l][m] = 0;
      if (l <= m) continue;
      const double norm = HarmonicNorm(l, m);
      up[l][m] = static_cast<T>((2 * l - 1) * norm / (HarmonicNorm(l - 1, m) * (l - m)));
      if (l > m + 1) down[l][m] = static_cast<T>((l + m - 1) * norm / (HarmonicNorm(l - 2, m) * (l - m)));
      slope[l][m] = static_cast<T>(norm / HarmonicNorm(l, m + 1));
    }
  }
}

template struct MomentTables<float>;
template struct MomentTables<double>;

template <typename T>
MomentSnapshot<T>::MomentSnapshot(const MomentNeighbors<T>& state, int num_species)
    : lanes_(state.lanes), num_atoms_(state.num_atoms) {
  const MomentView<T>& all = state.all;
  const int64_t blocks = num_atoms_ * num_species, elements = all.num_elements;
  memory_ = AlignedBuffer<char>(WholeLines<MomentBlock>(blocks) + 4 * WholeLines<T>(elements) +
                                WholeLines<int32_t>(elements));
  char* to = memory_.data();
  view_.num_elements = elements;
  view_.block = Pack(all.block, blocks, &to);
  view_.x = Pack(all.x, elements, &to);
  view_.y = Pack(all.y, elements, &to);
  view_.z = Pack(all.z, elements, &to);
  view_.r = Pack(all.r, elements, &to);
  view_.j = Pack(all.j, elements, &to);
}

template class MomentSnapshot<float>;
template class MomentSnapshot<double>;

}  // namespace rutile
