#include "lib/file/file_magic.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

using absl::string_view;

// A format that programs compress to, with the command that writes the plain bytes to standard output.
struct Compression {
  string_view magic;
  const char* name;
  const char* command;
};

constexpr Compression kCompressions[] = {
    {string_view("\xfd"
                 "7zXZ\0",
                 6),
     "xz", "xz -dc"},
    {string_view("\x28\xb5\x2f\xfd", 4), "zstd", "zstd -dc"},
    {string_view("\x04\x22\x4d\x18", 4), "lz4", "lz4 -dc"},
    {string_view("LZIP\1", 5), "lzip", "lzip -dc"},
    {string_view("\x1f\x9d", 2), "compress", "gzip -dc"},
    // bzip2 counts its block size in digits, and a block or the end of the stream follows.
    {string_view("BZh", 3), "bzip2", "bzip2 -dc"},
};
constexpr string_view kBzip2Block("1AY&SY", 6);
constexpr string_view kBzip2End("\x17rE8P\x90", 6);
constexpr size_t kBzip2Level = 3;

// An archive or table, with what makes text of it.
struct Archive {
  string_view magic;
  const char* name;
  const char* remedy;
};

constexpr Archive kArchives[] = {
    {string_view("PK\3\4", 4), "a zip archive (Excel's .xlsx is one, too)",
     "extract it first, as by \"unzip FILE\", or export the table as text with tabs between"},
    {string_view("7z\xbc\xaf\x27\x1c", 6), "a 7z archive", "extract it first, as by \"7z x FILE\""},
    {string_view("\x89HDF", 4), "an HDF5 file", "convert it to text first"},
    {string_view("PAR1", 4), "a Parquet table",
     "write it as text first, as by Python's pandas.read_parquet(\"FILE\").to_csv(\"t.tsv\", sep=\"\\t\", "
     "index=False)"},
};
constexpr string_view kTarMagic = "ustar";
constexpr size_t kTarMagicAt = 257;

bool IsBzip2(string_view bytes) {
  if (bytes.size() < kCompressionMagic || bytes[kBzip2Level] < '1' || bytes[kBzip2Level] > '9') return false;
  const string_view block = bytes.substr(kBzip2Level + 1, kBzip2Block.size());
  return block == kBzip2Block || block == kBzip2End;
}

// The name without the ending that a compressing program adds: "a.tsv" of "a.tsv.xz"; "a.txt" of "a".
std::string PlainName(string_view path) {
  const string_view name = path.substr(path.find_last_of('/') + 1);
  const size_t dot = name.find_last_of('.');
  if (dot == string_view::npos || dot == 0) return absl::StrCat(name, ".txt");
  return std::string(name.substr(0, dot));
}

}  // namespace

bool MayBeCompressed(string_view bytes) {
  const auto begins = [&](string_view magic) {
    const size_t n = std::min(bytes.size(), magic.size());
    return bytes.substr(0, n) == magic.substr(0, n);
  };
  return std::any_of(std::begin(kCompressions), std::end(kCompressions),
                     [&](const Compression& format) { return begins(format.magic); }) ||
         std::any_of(std::begin(kArchives), std::end(kArchives),
                     [&](const Archive& format) { return begins(format.magic); });
}

absl::Status RefuseCompressed(string_view path, string_view bytes) {
  for (const Compression& format : kCompressions) {
    if (!absl::StartsWith(bytes, format.magic)) continue;
    if (format.magic == "BZh" && !IsBzip2(bytes)) continue;
    if (path == "standard input") {
      return absl::InvalidArgumentError(absl::StrCat(path, ": is compressed with ", format.name,
                                                     ", expected text or gzip; put \"", format.command,
                                                     " |\" before the command"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is compressed with ", format.name, ", expected text or gzip; decompress it first: \"", format.command,
        " ", path, " > ", PlainName(path), "\", or \"", format.command, " ", path, " | COMMAND\" with - in its place"));
  }
  for (const Archive& format : kArchives) {
    if (!absl::StartsWith(bytes, format.magic)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is ", format.name, ", expected text or gzip; ", format.remedy));
  }
  if (bytes.size() >= kTarMagicAt + kTarMagic.size() && bytes.substr(kTarMagicAt, kTarMagic.size()) == kTarMagic) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is a tar archive, expected text or gzip; extract it first, as by \"tar -xf ", path, "\""));
  }
  return absl::OkStatus();
}

}  // namespace rutile
