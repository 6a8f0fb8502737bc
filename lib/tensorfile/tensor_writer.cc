#include "lib/tensorfile/tensor_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/crc32c.h"
#include "lib/file/directory.h"
#include "lib/file/file.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr char kChecksumPrefix[] = "crc32c.";
constexpr size_t kSpoolBuffer = 1 << 20;

// Pipes and devices cannot be rewound, and a reader takes them only once, so no spool file is made beside them.
bool IsStream(const std::string& path) {
  struct stat info;
  return path == "-" || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
}

absl::StatusOr<AtomicFile> CreateOutput(const std::string& path) {
  if (path == "-" && ::isatty(STDOUT_FILENO)) {
    return absl::InvalidArgumentError(
        "standard output is a terminal, which cannot show tensors; send it to a file or a pipe, or name an output");
  }
  return AtomicFile::Create(path);
}

// Drops checksums in metadata that was copied from an input: they belong to that input's tensors.
Metadata WithoutChecksums(const Metadata& metadata) {
  Metadata own;
  for (const auto& [key, value] : metadata) {
    if (!absl::StartsWith(key, kChecksumPrefix)) own.emplace(key, value);
  }
  return own;
}

void SetChecksum(absl::string_view name, uint32_t crc, Metadata* metadata) {
  (*metadata)[absl::StrCat(kChecksumPrefix, name)] = absl::StrFormat("%08x", crc);
}

absl::Status AtPath(const absl::Status& status, absl::string_view path) {
  return absl::Status(status.code(), absl::StrCat("cannot write ", path, ": ", status.message()));
}

absl::Status AppendHeader(const TensorHeader& header, AtomicFile* file) {
  const absl::StatusOr<std::string> text = FormatTensorHeader(header);
  if (!text.ok()) return AtPath(text.status(), file->path());
  return file->Append(*text);
}

absl::string_view Bytes(const Tensor& tensor) {
  return absl::string_view(static_cast<const char*>(tensor.data()), tensor.num_bytes());
}

}  // namespace

absl::Status WriteTensorFile(absl::string_view path, const Metadata& metadata, const NamedTensors& tensors) {
  const std::string name(path);
  const bool is_stream = IsStream(name);
  ASSIGN_OR_RETURN(AtomicFile file, CreateOutput(name));
  TensorHeader header;
  header.metadata = WithoutChecksums(metadata);
  for (const auto& [tensor_name, tensor] : tensors) {
    header.entries.push_back({tensor_name, tensor.dtype(), tensor.shape()});
    if (!is_stream) SetChecksum(tensor_name, Crc32c(Bytes(tensor)), &header.metadata);
  }
  LayOutTensors(&header.entries);
  RETURN_IF_ERROR(AppendHeader(header, &file));
  for (const TensorEntry& entry : header.entries) RETURN_IF_ERROR(file.Append(Bytes(tensors.At(entry.name))));
  return file.Commit();
}

namespace {

// A growing tensor: in a buffer, and once that is full in a file without a name, which vanishes with its descriptor.
class Spool {
 public:
  Spool(std::string directory, std::string path) : directory_(std::move(directory)), path_(std::move(path)) {}
  Spool(Spool&& other) = delete;
  ~Spool() { Close(); }

  uint32_t crc() const { return crc_; }

  absl::Status Append(absl::string_view bytes) {
    crc_ = ExtendCrc32c(crc_, bytes);
    if (buffer_.size() + bytes.size() <= kSpoolBuffer) {
      buffer_.append(bytes.data(), bytes.size());
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(Write(buffer_));
    buffer_.clear();
    if (bytes.size() >= kSpoolBuffer) return Write(bytes);
    buffer_.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }

  // Appends everything to `file`, and frees disk and memory.
  absl::Status MoveTo(AtomicFile* file) {
    if (written_ > 0) RETURN_IF_ERROR(file->AppendFile(fd_, written_, /*drain=*/true));
    Close();
    const std::string rest = std::exchange(buffer_, std::string());
    return file->Append(rest);
  }

 private:
  absl::Status Error(int error_number) const {
    return ErrnoStatus(error_number, absl::StrCat("cannot write ", path_, ": spool file in ", directory_));
  }

  absl::Status Write(absl::string_view bytes) {
    if (bytes.empty()) return absl::OkStatus();
    if (fd_ < 0) {
      std::string name = absl::StrCat(directory_, "/.rutile-spool.XXXXXX");
      fd_ = ::mkostemp(name.data(), O_CLOEXEC);
      if (fd_ < 0) return Error(errno);
      ::unlink(name.c_str());
    }
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0) {
        if (errno == EINTR) continue;
        return Error(errno);
      }
      bytes.remove_prefix(n);
      written_ += n;
    }
    return absl::OkStatus();
  }

  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  const std::string directory_, path_;
  std::string buffer_;
  int fd_ = -1;
  int64_t written_ = 0;  // bytes in the file; the rest is in buffer_
  uint32_t crc_ = 0;
};

std::string SpoolDirectory(const std::string& path, bool is_stream) {
  if (is_stream) {
    const char* const directory = std::getenv("TMPDIR");
    return directory != nullptr && *directory != '\0' ? directory : "/tmp";
  }
  return DirectoryOf(path);
}

}  // namespace

struct TensorStreamWriter::State {
  struct Column {
    Column(TensorEntry e, std::string directory, std::string path)
        : entry(std::move(e)), spool(std::move(directory), std::move(path)) {}
    TensorEntry entry;  // its shape is [rows, ...]
    int64_t row_elements = 1;
    Spool spool;
  };

  State(AtomicFile f, bool stream, std::string directory)
      : file(std::move(f)), is_stream(stream), spool_directory(std::move(directory)) {}

  Column* Find(absl::string_view name) {
    for (const auto& column : columns) {
      if (column->entry.name == name) return column.get();
    }
    return nullptr;
  }

  AtomicFile file;
  const bool is_stream;
  const std::string spool_directory;
  std::vector<std::unique_ptr<Column>> columns;
  bool finished = false;
};

TensorStreamWriter::TensorStreamWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TensorStreamWriter::TensorStreamWriter(TensorStreamWriter&&) noexcept = default;
TensorStreamWriter::~TensorStreamWriter() = default;

absl::StatusOr<TensorStreamWriter> TensorStreamWriter::Create(absl::string_view path) {
  const std::string name(path);
  const bool is_stream = IsStream(name);
  // The output is opened now, so that an unwritable path is reported before the work and not after it.
  ASSIGN_OR_RETURN(AtomicFile file, CreateOutput(name));
  return TensorStreamWriter(std::make_unique<State>(std::move(file), is_stream, SpoolDirectory(name, is_stream)));
}

absl::Status TensorStreamWriter::Declare(absl::string_view name, DType dtype, std::vector<int64_t> row_shape) {
  CHECK(!state_->finished);
  const auto error = [&](absl::string_view what) {
    return AtPath(absl::InvalidArgumentError(absl::StrCat("tensor ", JsonQuote(name), ": ", what)),
                  state_->file.path());
  };
  if (state_->Find(name) != nullptr) return error("declared twice");
  int64_t row_elements = 1;
  for (const int64_t size : row_shape) {
    if (size < 0 || __builtin_mul_overflow(row_elements, size, &row_elements)) {
      return error(absl::StrCat("rows of ", DescribeShape(dtype, row_shape), " have no size"));
    }
  }
  row_shape.insert(row_shape.begin(), 0);
  auto column = std::make_unique<State::Column>(TensorEntry{std::string(name), dtype, std::move(row_shape)},
                                                state_->spool_directory, state_->file.path());
  column->row_elements = row_elements;
  state_->columns.push_back(std::move(column));
  return absl::OkStatus();
}

absl::Status TensorStreamWriter::AppendBytes(absl::string_view name, DType dtype, const void* data,
                                             int64_t num_elements) {
  CHECK(!state_->finished);
  State::Column* const column = state_->Find(name);
  CHECK(column != nullptr) << "no tensor \"" << name << "\" was declared";
  CHECK(column->entry.dtype == dtype) << name << ": " << DTypeName(dtype) << " appended to "
                                      << DTypeName(column->entry.dtype);
  if (num_elements == 0) return absl::OkStatus();
  CHECK(column->row_elements > 0 && num_elements % column->row_elements == 0)
      << name << ": " << num_elements << " elements are not whole rows of " << column->row_elements;
  column->entry.shape[0] += num_elements / column->row_elements;
  return column->spool.Append(absl::string_view(static_cast<const char*>(data), num_elements * ByteSize(dtype)));
}

int64_t TensorStreamWriter::rows(absl::string_view name) const {
  const State::Column* const column = state_->Find(name);
  CHECK(column != nullptr) << "no tensor \"" << name << "\" was declared";
  return column->entry.shape[0];
}

absl::Status TensorStreamWriter::Finish(const Metadata& metadata) {
  CHECK(!state_->finished);
  state_->finished = true;
  TensorHeader header;
  header.metadata = WithoutChecksums(metadata);
  for (const auto& column : state_->columns) {
    header.entries.push_back(column->entry);
    if (!state_->is_stream) SetChecksum(column->entry.name, column->spool.crc(), &header.metadata);
  }
  LayOutTensors(&header.entries);
  RETURN_IF_ERROR(AppendHeader(header, &state_->file));
  for (const TensorEntry& entry : header.entries) {
    RETURN_IF_ERROR(state_->Find(entry.name)->spool.MoveTo(&state_->file));
  }
  return state_->file.Commit();
}

}  // namespace rutile
