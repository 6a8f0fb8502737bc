#include "lib/file/plain_sha256.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t RotateRight(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

}  // namespace

void PlainSha256::AddBlock(const uint8_t* block) {
  uint32_t w[64];
  for (int t = 0; t < 16; ++t, block += 4) {
    w[t] = uint32_t{block[0]} << 24 | uint32_t{block[1]} << 16 | uint32_t{block[2]} << 8 | block[3];
  }
  for (int t = 16; t < 64; ++t) {
    const uint32_t x = w[t - 15], y = w[t - 2];
    w[t] = w[t - 16] + (RotateRight(x, 7) ^ RotateRight(x, 18) ^ x >> 3) + w[t - 7] +
           (RotateRight(y, 17) ^ RotateRight(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int t = 0; t < 64; ++t) {
    const uint32_t one =
        h + (RotateRight(e, 6) ^ RotateRight(e, 11) ^ RotateRight(e, 25)) + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const uint32_t two = (RotateRight(a, 2) ^ RotateRight(a, 13) ^ RotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const uint32_t after[8] = {a, b, c, d, e, f, g, h};
  for (int k = 0; k < 8; ++k) state_[k] += after[k];
}

void PlainSha256::Update(absl::string_view bytes) {
  num_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), rest_.size() - num_rest_);
    std::memcpy(&rest_[num_rest_], bytes.data(), size);
    num_rest_ += size;
    bytes.remove_prefix(size);
    if (num_rest_ < rest_.size()) return;
    AddBlock(rest_.data());
    num_rest_ = 0;
  }
}

std::string PlainSha256::HexDigest() const {
  PlainSha256 end = *this;
  std::string padding(1, '\x80');
  padding.append((119 - num_rest_) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) padding.push_back(static_cast<char>(num_bytes_ * 8 >> shift & 0xff));
  end.Update(padding);
  std::string digits;
  for (const uint32_t each : end.state_) absl::StrAppend(&digits, absl::Hex(each, absl::kZeroPad8));
  return digits;
}

}  // namespace rutile
