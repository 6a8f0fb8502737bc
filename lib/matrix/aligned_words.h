// Memory for packed factors, aligned to a cache line.

#ifndef RUTILE_LIB_MATRIX_ALIGNED_WORDS_H_
#define RUTILE_LIB_MATRIX_ALIGNED_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rutile {

class AlignedWords {
 public:
  AlignedWords() = default;
  AlignedWords(AlignedWords&&) = default;
  AlignedWords& operator=(AlignedWords&&) = default;
  AlignedWords(const AlignedWords&) = delete;  // a copy would have another alignment
  AlignedWords& operator=(const AlignedWords&) = delete;

  // Returns memory of `words` words, reusing that of the last call if it is large enough. New memory is zero, reused
  // memory undefined.
  uint32_t* Take(int64_t words) {
    const size_t needed = static_cast<size_t>(words + kLine);
    if (memory_.size() < needed) memory_ = std::vector<uint32_t>(needed);
    return const_cast<uint32_t*>(data());
  }
  const uint32_t* data() const {
    const uintptr_t bytes = kLine * sizeof(uint32_t), at = reinterpret_cast<uintptr_t>(memory_.data());
    return reinterpret_cast<const uint32_t*>((at + bytes - 1) / bytes * bytes);
  }

 private:
  static constexpr int64_t kLine = 16;  // words in a cache line

  std::vector<uint32_t> memory_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_ALIGNED_WORDS_H_
