// SHA-256 (FIPS 180-4), by which a file records the inputs it was made from. OpenSSL computes it with the processor's
// instructions.

#ifndef RUTILE_LIB_FILE_SHA256_H_
#define RUTILE_LIB_FILE_SHA256_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace rutile {

// Hashes bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(absl::string_view bytes);
  // Returns 64 hex digits for all bytes so far; more may follow.
  std::string HexDigest() const;

 private:
  evp_md_ctx_st* const context_;
};

std::string Sha256Hex(absl::string_view bytes);

// Hashes a file's content. Fails for "-", because standard input cannot be read twice.
absl::StatusOr<std::string> Sha256HexOfFile(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_SHA256_H_
