#include "lib/file/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace rutile {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected: the highest power is not stored, bit 31 is x^0

constexpr std::array<uint32_t, 256> MakeByteTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kByteTable = MakeByteTable();

#ifdef __x86_64__

// The instruction takes 3 cycles and a new one can start in each: three stretches of the input are summed side by side,
// and their sums joined by multiplying with x^(8 stretch) modulo the polynomial.
constexpr size_t kStretch = 2048;

// a * b modulo the polynomial, both reflected.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ (b & 1 ? kPolynomial : 0);
  }
  return product;
}

// shift[k][byte]: what byte k of a checksum becomes when kStretch zero bytes follow.
using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;

ShiftTable MakeShiftTable() {
  uint32_t power = 0x00800000;  // x^8
  for (size_t length = 1; length < kStretch; length *= 2) power = Multiply(power, power);
  ShiftTable shift{};
  for (int k = 0; k < 4; ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) shift[k][byte] = Multiply(byte << (8 * k), power);
  }
  return shift;
}
static_assert((kStretch & (kStretch - 1)) == 0 && kStretch % 8 == 0, "the power is found by squaring");

uint32_t Shift(const ShiftTable& shift, uint32_t crc) {
  return shift[0][crc & 255] ^ shift[1][(crc >> 8) & 255] ^ shift[2][(crc >> 16) & 255] ^ shift[3][crc >> 24];
}

uint64_t Load64(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) uint32_t ExtendSse42(uint32_t crc, absl::string_view bytes) {
  static const ShiftTable* const shift = new ShiftTable(MakeShiftTable());
  const char* p = bytes.data();
  size_t left = bytes.size();
  uint64_t a = ~crc;
  while (left >= 3 * kStretch) {
    uint64_t b = 0, c = 0;
    for (const char* const end = p + kStretch; p != end; p += 8) {
      a = __builtin_ia32_crc32di(a, Load64(p));
      b = __builtin_ia32_crc32di(b, Load64(p + kStretch));
      c = __builtin_ia32_crc32di(c, Load64(p + 2 * kStretch));
    }
    a = Shift(*shift, Shift(*shift, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^ c;
    p += 2 * kStretch;
    left -= 3 * kStretch;
  }
  for (; left >= 8; p += 8, left -= 8) a = __builtin_ia32_crc32di(a, Load64(p));
  uint32_t tail = static_cast<uint32_t>(a);
  for (; left > 0; ++p, --left) tail = __builtin_ia32_crc32qi(tail, *p);
  return ~tail;
}

#endif  // __x86_64__

}  // namespace

uint32_t ExtendCrc32cReference(uint32_t crc, absl::string_view bytes) {
  crc = ~crc;
  for (const char c : bytes) crc = (crc >> 8) ^ kByteTable[(crc ^ static_cast<unsigned char>(c)) & 255];
  return ~crc;
}

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ExtendSse42(crc, bytes);
#endif
  return ExtendCrc32cReference(crc, bytes);
}

}  // namespace rutile
