#include "lib/tensorfile/tensor_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/file/crc32c.h"
#include "lib/file/file.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr size_t kLengthSize = sizeof(uint64_t);

uint64_t HeaderLength(absl::string_view bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthSize; ++i) length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

// Returns the header's JSON with its padding, or an error that names the broken rule.
absl::StatusOr<absl::string_view> HeaderText(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the file is empty, expected a safetensors file");
  // A length below the limit has zeros from its fifth byte on.
  const bool is_text =
      bytes.size() > 4 && std::all_of(bytes.begin(), bytes.begin() + std::min(bytes.size(), kLengthSize),
                                      [](char c) { return absl::ascii_isprint(c) || absl::ascii_isspace(c); });
  if (is_text) return absl::InvalidArgumentError("this is text, expected a safetensors file");
  if (bytes.size() < kLengthSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cut off: ", bytes.size(), " bytes, expected a safetensors file, which starts with a length of 8"));
  }
  const uint64_t length = HeaderLength(bytes);
  if (length > kMaxTensorHeader) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a safetensors file: its first 8 bytes, the header's length, say ", length, ", at most ",
                     kMaxTensorHeader, " are allowed"));
  }
  const absl::string_view rest = bytes.substr(kLengthSize);
  if (!rest.empty() && rest[0] != '{') {
    return absl::InvalidArgumentError("not a safetensors file: the header does not start with '{' at byte 8");
  }
  if (length < 2) {
    return absl::InvalidArgumentError(absl::StrCat("not a safetensors file: a header of ", length, " bytes"));
  }
  if (rest.size() < length) {
    return absl::InvalidArgumentError(
        absl::StrCat("cut off: the header has ", length, " bytes, ", rest.size(), " are left"));
  }
  return rest.substr(0, length);
}

// Sorts the entries by offset and checks that they cover the data exactly once.
absl::Status CheckPlaces(int64_t data_size, std::vector<TensorEntry>* entries) {
  std::stable_sort(entries->begin(), entries->end(), [](const TensorEntry& a, const TensorEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  int64_t covered = 0;
  const TensorEntry* previous = nullptr;
  for (const TensorEntry& entry : *entries) {
    if (entry.end > data_size) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", JsonQuote(entry.name), ": bytes ", entry.begin, "..",
                                                     entry.end, " lie outside the file's data of ", data_size,
                                                     " bytes; the file was cut off"));
    }
    if (entry.begin < covered) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", JsonQuote(entry.name), ": bytes ", entry.begin, "..",
                                                     entry.end, " overlap those of ", JsonQuote(previous->name), ", ",
                                                     previous->begin, "..", previous->end));
    }
    if (entry.begin > covered) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", JsonQuote(entry.name), ": before its bytes ",
                                                     entry.begin, "..", entry.end, " is a hole from ", covered, " on"));
    }
    covered = entry.end;
    previous = &entry;
  }
  if (covered != data_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(data_size - covered, " bytes follow the last tensor, expected the end of the file"));
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(const TensorEntry& entry, absl::string_view bytes, const Metadata& metadata, bool verify) {
  if (entry.dtype == DType::kBool) {
    // A C++ bool that is neither 0 nor 1 is undefined behavior when it is compared.
    const auto bad = std::find_if(bytes.begin(), bytes.end(), [](char c) { return (c & ~1) != 0; });
    if (bad != bytes.end()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", JsonQuote(entry.name), ": element ",
                                                     bad - bytes.begin(), " is ", static_cast<unsigned char>(*bad),
                                                     ", expected 0 or 1 in a BOOL"));
    }
  }
  if (!verify) return absl::OkStatus();
  const auto recorded = metadata.find(absl::StrCat("crc32c.", entry.name));
  if (recorded == metadata.end()) return absl::OkStatus();
  const std::string found = absl::StrFormat("%08x", Crc32c(bytes));
  if (recorded->second == found) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("tensor ", JsonQuote(entry.name), ": CRC32C is ", found,
                                          ", the file was written with ", recorded->second,
                                          "; its bytes were changed since: make it again, or leave crc32c.", entry.name,
                                          " out of the metadata if they are meant"));
}

Tensor ViewOrCopy(const TensorEntry& entry, absl::string_view bytes, const std::shared_ptr<const void>& owner) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % ByteSize(entry.dtype) == 0) {
    return Tensor::View(entry.dtype, entry.shape, bytes.data(), owner);
  }
  Tensor copy = Tensor::Zeros(entry.dtype, entry.shape);
  if (!bytes.empty()) std::memcpy(copy.mutable_data(), bytes.data(), bytes.size());
  return copy;
}

absl::StatusOr<TensorFile> Parse(absl::string_view bytes, const std::shared_ptr<const void>& owner, bool verify) {
  ASSIGN_OR_RETURN(const absl::string_view text, HeaderText(bytes));
  ASSIGN_OR_RETURN(TensorHeader header, ParseTensorHeader(text));
  const absl::string_view data = bytes.substr(kLengthSize + text.size());
  RETURN_IF_ERROR(CheckPlaces(data.size(), &header.entries));
  std::vector<NamedTensors::Item> items;
  items.reserve(header.entries.size());
  for (TensorEntry& entry : header.entries) {
    const absl::string_view part = data.substr(entry.begin, entry.end - entry.begin);
    RETURN_IF_ERROR(CheckBytes(entry, part, header.metadata, verify));
    Tensor tensor = ViewOrCopy(entry, part, owner);
    items.emplace_back(std::move(entry.name), std::move(tensor));
  }
  TensorFile file;
  file.metadata = std::move(header.metadata);
  file.tensors = NamedTensors(std::move(items));
  return file;
}

// Tells a stream from others that had its name before: its name, device and inode.
using StreamKey = std::tuple<std::string, dev_t, ino_t>;

// What streams held that were read, because their bytes can be read only once.
struct Streams {
  absl::Mutex mutex;
  std::map<StreamKey, FileContents> contents ABSL_GUARDED_BY(mutex);
};

Streams& ReadStreams() {
  static auto* const streams = new Streams();
  return *streams;
}

// Returns the key of a stream, or nullopt for a file, and for what is not there.
std::optional<StreamKey> KeyOfStream(const std::string& name) {
  struct stat info;
  if (name == "-") {
    if (::fstat(STDIN_FILENO, &info) != 0) return std::nullopt;
  } else if (::stat(name.c_str(), &info) != 0 || S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  return StreamKey(name, info.st_dev, info.st_ino);
}

absl::StatusOr<FileContents> OpenFileOrStream(absl::string_view path) {
  const std::optional<StreamKey> key = KeyOfStream(std::string(path));
  if (!key.has_value()) return FileContents::Open(path);
  Streams& streams = ReadStreams();
  const absl::MutexLock lock(&streams.mutex);
  const auto found = streams.contents.find(*key);
  if (found != streams.contents.end()) return found->second;
  ASSIGN_OR_RETURN(FileContents contents, FileContents::Open(path));
  return streams.contents.emplace(*key, std::move(contents)).first->second;
}

// Returns the first bytes of a stream that was read, up to `size`; "" of others.
std::string BeginningOfStream(const std::string& name, size_t size) {
  const std::optional<StreamKey> key = KeyOfStream(name);
  if (!key.has_value()) return "";
  Streams& streams = ReadStreams();
  const absl::MutexLock lock(&streams.mutex);
  const auto found = streams.contents.find(*key);
  return found == streams.contents.end() ? "" : std::string(found->second.data().substr(0, size));
}

// Returns the descriptor that this process was given under a name: 0 for "-" and "/dev/stdin", 63 for "/dev/fd/63". -1
// for other names, and for a descriptor of a file, which has a name of its own to be opened by.
int GivenDescriptor(const std::string& name) {
  int fd = -1;
  absl::string_view number = name;
  if (name == "-") return STDIN_FILENO;
  if (name == "/dev/stdin") {
    fd = STDIN_FILENO;
  } else if (!(absl::ConsumePrefix(&number, "/dev/fd/") || absl::ConsumePrefix(&number, "/proc/self/fd/")) ||
             !absl::SimpleAtoi(number, &fd)) {
    return -1;
  }
  struct stat info;
  return ::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) ? fd : -1;
}

// Returns the next bytes of a file, pipe or socket, up to `size`, without taking them. Waits until they are there, the
// writer has gone, or a signal arrives. Of anything else: "".
std::string Peek(int fd, size_t size) {
  std::string bytes(size, '\0');
  struct stat info;
  if (::fstat(fd, &info) != 0) return "";
  if (S_ISREG(info.st_mode)) {
    const ssize_t n = ::pread(fd, bytes.data(), size, ::lseek(fd, 0, SEEK_CUR));
    return bytes.substr(0, n < 0 ? 0 : n);
  }
  if (S_ISSOCK(info.st_mode)) {
    const ssize_t n = ::recv(fd, bytes.data(), size, MSG_PEEK | MSG_WAITALL);
    return bytes.substr(0, n < 0 ? 0 : n);
  }
  if (!S_ISFIFO(info.st_mode)) return "";
  while (true) {
    pollfd wait = {fd, POLLIN, 0};
    // A signal that came before the wait does not end it.
    const int ready = ::poll(&wait, 1, /*milliseconds=*/100);
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      if (InterruptSignal() != 0) return "";
      continue;
    }
    if (ready < 0) return "";
    int copy[2];
    if (::pipe2(copy, O_CLOEXEC) != 0) return "";
    const auto close = absl::MakeCleanup([&copy] {
      ::close(copy[0]);
      ::close(copy[1]);
    });
    ssize_t n = ::tee(fd, copy[1], size, SPLICE_F_NONBLOCK);
    if (n > 0) n = ::read(copy[0], bytes.data(), n);
    if (n >= static_cast<ssize_t>(size) || (wait.revents & POLLHUP) != 0 || n < 0) {
      return bytes.substr(0, n < 0 ? 0 : n);
    }
    absl::SleepFor(absl::Milliseconds(1));  // the writer writes a few bytes at a time
  }
}

}  // namespace

absl::StatusOr<TensorFile> ParseTensorFile(absl::string_view name, absl::string_view bytes,
                                           std::shared_ptr<const void> owner, const TensorReadOptions& options) {
  absl::StatusOr<TensorFile> file = Parse(bytes, owner, options.verify_checksums);
  if (!file.ok()) return absl::Status(file.status().code(), absl::StrCat(name, ": ", file.status().message()));
  file->path = std::string(name);
  return file;
}

absl::StatusOr<TensorFile> ReadTensorFile(absl::string_view path, const TensorReadOptions& options) {
  ASSIGN_OR_RETURN(const FileContents contents, OpenFileOrStream(path));
  return ParseTensorFile(contents.path(), contents.data(), contents.owner(), options);
}

absl::StatusOr<TensorFile> LookIntoTensorFile(absl::string_view path) {
  TensorReadOptions options;
  options.verify_checksums = false;
  return ReadTensorFile(path, options);
}

bool LooksLikeTensorFile(absl::string_view path) {
  const std::string name(path);
  struct stat info;
  std::string bytes = BeginningOfStream(name, kLengthSize + 1);
  const int fd = bytes.empty() ? GivenDescriptor(name) : -1;
  if (!bytes.empty()) {
    // It was read, and its descriptor is at its end.
  } else if (fd >= 0) {
    bytes = Peek(fd, kLengthSize + 1);
  } else if (::stat(name.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    bytes.resize(kLengthSize + 1);
    std::ifstream file(name, std::ios::binary);
    if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return false;
  }
  if (bytes.size() <= kLengthSize) return false;
  const uint64_t length = HeaderLength(bytes);
  return length >= 2 && length <= kMaxTensorHeader && bytes[kLengthSize] == '{';
}

}  // namespace rutile
