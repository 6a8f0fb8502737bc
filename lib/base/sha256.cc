#include "lib/base/sha256.h"

#include <openssl/evp.h>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "lib/base/file.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1) << "OpenSSL has no SHA-256";
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::Update(absl::string_view bytes) { CHECK_EQ(EVP_DigestUpdate(context_, bytes.data(), bytes.size()), 1); }

std::string Sha256::HexDigest() const {
  EVP_MD_CTX* const copy = EVP_MD_CTX_new();  // reading the digest ends a context
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(copy != nullptr && EVP_MD_CTX_copy_ex(copy, context_) == 1 && EVP_DigestFinal_ex(copy, digest, &size) == 1);
  EVP_MD_CTX_free(copy);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 sha256;
  sha256.Update(bytes);
  return sha256.HexDigest();
}

absl::StatusOr<std::string> Sha256HexOfFile(absl::string_view path) {
  if (path == "-") return absl::InvalidArgumentError("standard input cannot be read a second time to hash it");
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  return Sha256Hex(contents.data());
}

}  // namespace rutile
