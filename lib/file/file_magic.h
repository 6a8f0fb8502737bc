// Recognizes files that are no text by their first bytes: compressed in a way that is not read here, or an archive.

#ifndef RUTILE_LIB_FILE_FILE_MAGIC_H_
#define RUTILE_LIB_FILE_FILE_MAGIC_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Number of bytes after which every compression is recognized.
inline constexpr size_t kCompressionMagic = 10;

// True if bytes may be the beginning of compressed data that are not read here, and more bytes would decide it. Text
// never needs more than its first byte, unless that is one of "(", 7, B, L and P.
bool MayBeCompressed(absl::string_view bytes);

// INVALID_ARGUMENT if a file begins as xz, zstd, bzip2, lz4, lzip or compress write, or as a zip, 7z, tar, HDF5 or
// Parquet file. The message names the path and the command that makes text of it, and contains no bytes of the file. An
// archive of tar is recognized from its first 262 bytes. gzip is not refused: LineReader reads it.
absl::Status RefuseCompressed(absl::string_view path, absl::string_view bytes);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_FILE_MAGIC_H_
