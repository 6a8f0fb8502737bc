// CRC-32C (Castagnoli), the checksum of tensors in our files and of iSCSI, ext4 and SSE4.2's crc32 instruction.
//
// Polynomial 0x1EDC6F41, bits reflected, started and ended with all ones (RFC 3720, B.4 has test vectors).

#ifndef RUTILE_LIB_FILE_CRC32C_H_
#define RUTILE_LIB_FILE_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace rutile {

// Returns the checksum of the bytes seen so far (whose checksum is `crc`) followed by `bytes`. Start with crc = 0. Uses
// the processor's instruction if there is one, a table otherwise.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) { return ExtendCrc32c(0, bytes); }

// Looks up a table for each byte. This function defines the result, and runs where there is no SSE4.2.
uint32_t ExtendCrc32cReference(uint32_t crc, absl::string_view bytes);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_CRC32C_H_
