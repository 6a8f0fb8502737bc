#include "lib/descriptor/kernels/geometry_snapshot.h"

#include <algorithm>
#include <cstdint>

#include "lib/base/round_up.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {
namespace {

// Returns the bytes of an array in whole cache lines, as vectors are loaded from multiples of their size.
template <typename Value>
int64_t WholeLines(int64_t count) {
  return RoundUp(count * static_cast<int64_t>(sizeof(Value)), kBufferAlignment);
}

// Copies arrays one behind the other.
class Packer {
 public:
  explicit Packer(char* to) : to_(to) {}

  template <typename Value>
  const Value* Copy(const Value* from, int64_t count) {
    auto* const copy = reinterpret_cast<Value*>(to_);
    std::copy_n(from, count, copy);
    to_ += WholeLines<Value>(count);
    return copy;
  }

 private:
  char* to_;
};

}  // namespace

template <typename T>
GeometrySnapshot<T>::GeometrySnapshot(const InterleavedNeighbors<T>& state, size_t num_species, int num_moments)
    : lanes_(state.lanes), num_atoms_(state.num_atoms) {
  const InterleavedView<T>& all = state.all;
  const int64_t groups = all.num_groups, blocks = groups * static_cast<int64_t>(num_species);
  const int64_t slots = blocks == 0 ? 0 : all.block[blocks - 1].begin + all.block[blocks - 1].slots;
  const int64_t atoms = groups * lanes_, elements = slots * lanes_, moments = atoms * num_moments;
  memory_ = AlignedBuffer<char>(WholeLines<int32_t>(atoms) + WholeLines<InterleavedBlock>(blocks) +
                                4 * WholeLines<T>(elements) + WholeLines<int32_t>(elements) + WholeLines<T>(moments));
  Packer packer(memory_.data());
  view_.num_groups = groups;
  view_.atom = packer.Copy(all.atom, atoms);
  view_.block = packer.Copy(all.block, blocks);
  view_.x = packer.Copy(all.x, elements);
  view_.y = packer.Copy(all.y, elements);
  view_.z = packer.Copy(all.z, elements);
  view_.r = packer.Copy(all.r, elements);
  view_.j = packer.Copy(all.j, elements);
  view_.moments = packer.Copy(all.moments, moments);
}

template class GeometrySnapshot<float>;
template class GeometrySnapshot<double>;

}  // namespace rutile
