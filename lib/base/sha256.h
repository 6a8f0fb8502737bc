// SHA-256 (FIPS 180-4): says which inputs a file was made from. By OpenSSL, which uses the processor's instructions.

#ifndef RUTILE_LIB_BASE_SHA256_H_
#define RUTILE_LIB_BASE_SHA256_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace rutile {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(absl::string_view bytes);
  // 64 hex digits of all bytes so far; more may follow.
  std::string HexDigest() const;

 private:
  evp_md_ctx_st* const context_;
};

std::string Sha256Hex(absl::string_view bytes);

// Of a file's content. Fails for "-": what standard input gave cannot be read again.
absl::StatusOr<std::string> Sha256HexOfFile(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_SHA256_H_
