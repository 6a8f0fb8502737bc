#include "lib/file/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/file/file.h"

namespace rutile {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1) << "OpenSSL has no SHA-256";
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::Update(absl::string_view bytes) { CHECK_EQ(EVP_DigestUpdate(context_, bytes.data(), bytes.size()), 1); }

std::string Sha256::HexDigest() const {
  EVP_MD_CTX* const copy = EVP_MD_CTX_new();  // EVP_DigestFinal_ex ends its context
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
  // The file is read, not mapped, because mapped pages of large inputs would count as this process's memory again.
  const int fd = ::open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  struct stat info;
  if (::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode)) {
    ::close(fd);
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no regular file, and cannot be read a second time to hash it"));
  }
  Sha256 sha256;
  std::vector<char> piece(1 << 20);
  while (true) {
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      const int error = errno;
      ::close(fd);
      if (size < 0) return ErrnoStatus(error, path);
      return sha256.HexDigest();
    }
    sha256.Update(absl::string_view(piece.data(), static_cast<size_t>(size)));
  }
}

}  // namespace rutile
