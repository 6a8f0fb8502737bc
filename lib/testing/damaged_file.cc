#include "lib/testing/damaged_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr size_t kEditSize = 4;
constexpr size_t kEditsOfAFile = 4;
constexpr size_t kLongestMessage = 100000;  // tools cut what they print; libraries may quote a whole header

// Overwrites up to eight bytes with the bytes of an extreme number.
void OverwriteWithExtreme(uint8_t which, size_t place, std::string* bytes) {
  const double doubles[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308,
                            -1e308, 5e-324};
  const int64_t integers[] = {
      0, -1, 1, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), int64_t{1} << 32, 0x7fffffff};
  char number[8];
  if (which % 2 == 0) {
    std::memcpy(number, &doubles[which / 2 % std::size(doubles)], sizeof(number));
  } else {
    std::memcpy(number, &integers[which / 2 % std::size(integers)], sizeof(number));
  }
  bytes->replace(place, std::min(sizeof(number), bytes->size() - place), number,
                 std::min(sizeof(number), bytes->size() - place));
}

// Changes the digit of the header that is next after the place.
void ChangeDigit(uint8_t value, size_t place, std::string* bytes) {
  const size_t header = std::min<size_t>(bytes->size(), bytes->rfind('}') + 1);
  if (header == 0) return;
  for (size_t i = place % header; i < header; ++i) {
    if (!absl::ascii_isdigit((*bytes)[i])) continue;
    (*bytes)[i] = static_cast<char>('0' + value % 10);
    return;
  }
}

void Edit(const uint8_t* edit, std::string* bytes) {
  if (bytes->empty()) return;
  const size_t place = (size_t{edit[1]} * 256 + edit[2]) * bytes->size() / 65536;
  const uint8_t value = edit[3];
  switch (edit[0] % 9) {
    case 0:
      (*bytes)[place] = static_cast<char>(value);
      return;
    case 1:
      (*bytes)[place] ^= static_cast<char>(1 << value % 8);
      return;
    case 2:
      (*bytes)[place] += static_cast<char>(value % 16) - 8;
      return;
    case 3:
      bytes->resize(place);
      return;
    case 4:
      bytes->erase(place, size_t{value} + 1);
      return;
    case 5:
      bytes->insert(place, size_t{value} % 16 + 1, static_cast<char>(value));
      return;
    case 6:
      OverwriteWithExtreme(value, place, bytes);
      return;
    case 7:
      bytes->insert(place, bytes->substr(place, size_t{value} + 1));
      return;
    default:
      ChangeDigit(value, place, bytes);
  }
}

}  // namespace

ScratchFile::ScratchFile() {
  const char* const parent = std::getenv("TEST_TMPDIR");
  directory_ = absl::StrCat(parent != nullptr ? parent : "/tmp", "/scratch.XXXXXX");
  CHECK(::mkdtemp(directory_.data()) != nullptr) << directory_;
}

ScratchFile::~ScratchFile() {
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

std::string ScratchFile::Contents() const {
  std::ifstream file(path(), std::ios::binary);
  CHECK(file.good()) << path();
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string WithoutChecksums(absl::string_view tensor_file) {
  return absl::StrReplaceAll(tensor_file, {{"\"crc32c.", "\"xxc32c."}});
}

std::string Damaged(absl::string_view whole, absl::Span<const uint8_t> edits) {
  std::string bytes(whole);
  for (size_t i = 0; i + kEditSize <= edits.size(); i += kEditSize) Edit(&edits[i], &bytes);
  return bytes;
}

void ForEachDamage(absl::string_view whole, const uint8_t* data, size_t size,
                   const std::function<void(const std::string& path)>& read) {
  size_t begin = 0;
  do {
    // The first byte says how many operations follow, so that small damage is as frequent as large.
    const size_t count = begin < size ? data[begin] % kEditsOfAFile + 1 : 0;
    const size_t end = std::min(size, begin + 1 + count * kEditSize);
    const std::string bytes =
        begin < size ? Damaged(whole, absl::MakeConstSpan(data + begin + 1, end - begin - 1)) : std::string(whole);
    const int file = ::memfd_create("damaged", MFD_CLOEXEC);
    CHECK_GE(file, 0);
    CHECK_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    read(absl::StrCat("/proc/self/fd/", file));
    ::close(file);
    begin = end;
  } while (begin < size);
}

void CheckOutcome(const absl::Status& status, const std::string& path) {
  if (status.ok()) return;
  CHECK(status.message().find(path) != absl::string_view::npos) << "no name of the file: " << status;
  CHECK(status.message().find('\n') == absl::string_view::npos) << "several lines: " << status;
  CHECK_LT(status.message().size(), kLongestMessage) << status;
}

}  // namespace rutile
