// SHA-256 without OpenSSL, for the C library (lib/md): a program that loads it may have an OpenSSL of another version,
// which a copy beside the library would take the place of. Slower than Sha256 (sha256.h), which hashes files.

#ifndef RUTILE_LIB_FILE_PLAIN_SHA256_H_
#define RUTILE_LIB_FILE_PLAIN_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Hashes bytes that come piece by piece (NIST, FIPS 180-4, sections 5 and 6.2).
class PlainSha256 {
 public:
  void Update(absl::string_view bytes);
  // Returns 64 hex digits for all bytes so far; more may follow.
  std::string HexDigest() const;

 private:
  void AddBlock(const uint8_t* block);  // of 64 bytes

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> rest_;  // bytes that do not make a block yet
  size_t num_rest_ = 0;
  uint64_t num_bytes_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_PLAIN_SHA256_H_
