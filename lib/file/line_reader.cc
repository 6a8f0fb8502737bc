#include "lib/file/line_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/file_magic.h"
#include "lib/file/wait_for_input.h"

namespace rutile {

// A stream of bytes. Read fills up to `size` bytes and returns their number; 0 is the end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual absl::StatusOr<size_t> Read(char* out, size_t size) = 0;
};

namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kMaxLine = size_t{1} << 28;  // longer "lines" are no text; a small gzip file can make them
constexpr int64_t kSmall = 1 << 16;           // bytes; smaller files cost less to read than to map
constexpr absl::string_view kGzipMagic = "\x1f\x8b";
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

class FdSource : public ByteSource {
 public:
  FdSource(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~FdSource() override { ::close(fd_); }

  absl::StatusOr<size_t> Read(char* out, size_t size) override {
    while (true) {
      RETURN_IF_ERROR(WaitForInput(fd_));
      const ssize_t n = ::read(fd_, out, size);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) return ErrnoStatus(errno, path_);
    }
  }

 private:
  int fd_;
  std::string path_;
};

// Inflates the bytes in `input`, then those that `source` returns (if not null).
class GzipSource : public ByteSource {
 public:
  GzipSource(absl::string_view input, std::unique_ptr<ByteSource> source, std::string path)
      : input_(input), source_(std::move(source)), path_(std::move(path)) {}
  ~GzipSource() override {
    if (initialized_) ::inflateEnd(&stream_);
  }

  absl::StatusOr<size_t> Read(char* out, size_t size) override {
    size = std::min<size_t>(size, size_t{1} << 30);  // zlib counts in 32 bits
    while (true) {
      if (input_.empty()) RETURN_IF_ERROR(FillInput());
      if (input_.empty()) {
        if (!in_member_) return 0;
        return absl::InvalidArgumentError(absl::StrCat(
            path_,
            ": the gzip data end too early, expected the rest of the stream; the file is cut off, get it again"));
      }
      if (!in_member_) {
        // Some tools pad with zeros behind the last member.
        while (members_ > 0 && !input_.empty() && input_[0] == '\0') input_.remove_prefix(1);
        if (input_.empty()) continue;
        RETURN_IF_ERROR(StartMember());
      }
      const size_t given = std::min<size_t>(input_.size(), size_t{1} << 30);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
      stream_.avail_in = given;
      stream_.next_out = reinterpret_cast<Bytef*>(out);
      stream_.avail_out = size;
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      input_.remove_prefix(given - stream_.avail_in);
      if (result == Z_STREAM_END) {
        in_member_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return Damaged(stream_.msg != nullptr ? stream_.msg : "no reason given");
      }
      if (stream_.avail_out != size) return size - stream_.avail_out;
    }
  }

 private:
  absl::Status Damaged(absl::string_view reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": the gzip data are damaged (zlib: ", reason, "); get the file again"));
  }

  absl::Status FillInput() {
    if (source_ == nullptr) return absl::OkStatus();
    buffer_.resize(kBuffer / 4);
    ASSIGN_OR_RETURN(const size_t n, source_->Read(buffer_.data(), buffer_.size()));
    input_ = absl::string_view(buffer_.data(), n);
    return absl::OkStatus();
  }

  absl::Status StartMember() {
    if (members_ > 0 && input_[0] != kGzipMagic[0]) return Damaged("other bytes behind the end of the stream");
    const int result = initialized_ ? ::inflateReset(&stream_) : ::inflateInit2(&stream_, 15 + 16);
    if (result != Z_OK) return absl::ResourceExhaustedError(absl::StrCat(path_, ": zlib cannot start"));
    initialized_ = true;
    in_member_ = true;
    ++members_;
    return absl::OkStatus();
  }

  absl::string_view input_;
  std::unique_ptr<ByteSource> source_;
  std::string path_;
  std::vector<char> buffer_;
  z_stream stream_ = {};
  bool initialized_ = false;
  bool in_member_ = false;
  int64_t members_ = 0;
};

// A stream whose first bytes were already read to recognize its format: returns these first, then the rest.
class JoinedSource : public ByteSource {
 public:
  JoinedSource(std::string front, std::unique_ptr<ByteSource> rest)
      : front_(std::move(front)), rest_(std::move(rest)) {}

  absl::StatusOr<size_t> Read(char* out, size_t size) override {
    if (used_ == front_.size()) return rest_->Read(out, size);
    const size_t n = std::min(size, front_.size() - used_);
    std::memcpy(out, front_.data() + used_, n);
    used_ += n;
    return n;
  }

 private:
  std::string front_;
  size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

LineReader::LineReader(std::string path) : path_(std::move(path)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

absl::StatusOr<LineReader> LineReader::Open(absl::string_view path) {
  LineReader reader(path == "-" ? std::string("standard input") : std::string(path));
  int fd = -1;
  if (path == "-") {
    fd = ::dup(STDIN_FILENO);
    if (fd < 0) return ErrnoStatus(errno, reader.path_);
  } else {
    struct stat info;
    if (::stat(reader.path_.c_str(), &info) != 0) return ErrnoStatus(errno, reader.path_);
    if (S_ISREG(info.st_mode) && info.st_size > 0 && info.st_size <= kSmall) {
      const int file = ::open(reader.path_.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) return ErrnoStatus(errno, reader.path_);
      FdSource source(file, reader.path_);
      auto bytes =
          std::make_shared<std::string>(info.st_size + 1, '\0');  // one byte more, to notice that the end was reached
      size_t size = 0;
      while (size < bytes->size()) {
        ASSIGN_OR_RETURN(const size_t n, source.Read(bytes->data() + size, bytes->size() - size));
        if (n == 0) break;
        size += n;
      }
      if (size < bytes->size()) {
        RETURN_IF_ERROR(reader.StartInMemory(absl::string_view(bytes->data(), size), bytes));
        return reader;
      }
      // The file has grown since fstat; it is read as a stream below.
    }
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
      ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(path));
      // Advice fails for an empty file, which is not mapped; that does not matter.
      ::madvise(const_cast<char*>(file.data().data()), file.data().size(), MADV_SEQUENTIAL);
      RETURN_IF_ERROR(reader.StartInMemory(file.data(), file.owner()));
      return reader;
    }
    fd = ::open(reader.path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, reader.path_);
  }
  std::unique_ptr<ByteSource> source = std::make_unique<FdSource>(fd, reader.path_);
  std::string front;
  while (front.size() < kGzipMagic.size()) {
    char bytes[2];
    ASSIGN_OR_RETURN(const size_t n, source->Read(bytes, kGzipMagic.size() - front.size()));
    if (n == 0) break;
    front.append(bytes, n);
  }
  const bool is_gzip = front == kGzipMagic;
  source = std::make_unique<JoinedSource>(std::move(front), std::move(source));
  if (is_gzip) source = std::make_unique<GzipSource>("", std::move(source), reader.path_);
  reader.source_ = std::move(source);
  RETURN_IF_ERROR(reader.StartText());
  return reader;
}

LineReader LineReader::FromBytes(absl::string_view path, std::string bytes) {
  LineReader reader{std::string(path)};
  auto owned = std::make_shared<const std::string>(std::move(bytes));
  reader.StartInMemory(*owned, owned).IgnoreError();  // status() has it
  return reader;
}

absl::Status LineReader::StartInMemory(absl::string_view bytes, std::shared_ptr<const void> owner) {
  owner_ = std::move(owner);
  if (absl::StartsWith(bytes, kGzipMagic)) {
    source_ = std::make_unique<GzipSource>(bytes, nullptr, path_);
  } else {
    cursor_ = bytes.data();
    end_ = cursor_ + bytes.size();
  }
  return StartText();
}

absl::Status LineReader::StartText() {
  absl::string_view beginning = Prefix(kByteOrderMark.size());
  if (MayBeCompressed(beginning)) beginning = Prefix(kCompressionMagic);
  const absl::Status refusal = RefuseCompressed(path_, beginning);
  if (!refusal.ok()) {
    status_ = refusal;
    source_ = nullptr;
    cursor_ = end_;
  } else if (absl::StartsWith(beginning, kByteOrderMark)) {
    cursor_ += kByteOrderMark.size();
  }
  return refusal;
}

absl::string_view LineReader::Prefix(size_t n) {
  while (static_cast<size_t>(end_ - cursor_) < n && Refill()) {
  }
  return absl::string_view(cursor_, end_ - cursor_);
}

int64_t LineReader::BytesLeftAtMost() const {
  return source_ == nullptr ? end_ - cursor_ : std::numeric_limits<int64_t>::max();
}

bool LineReader::Refill() {
  if (source_ == nullptr || !status_.ok()) return false;
  const size_t unread = end_ - cursor_;
  if (unread > 0 && cursor_ != buffer_.data()) std::memmove(buffer_.data(), cursor_, unread);
  if (buffer_.size() < kBuffer) buffer_.resize(kBuffer);
  // At least half of the buffer must be free; otherwise short reads would move the same bytes again and again.
  if (unread > buffer_.size() / 2) buffer_.resize(2 * buffer_.size());
  cursor_ = buffer_.data();
  end_ = cursor_ + unread;
  absl::StatusOr<size_t> n = source_->Read(buffer_.data() + unread, buffer_.size() - unread);
  if (!n.ok()) {
    status_ = std::move(n).status();
    return false;
  }
  end_ += *n;
  return *n > 0;
}

bool LineReader::NextSlow(absl::string_view* line) {
  size_t searched = end_ - cursor_;
  while (Refill()) {
    const size_t size = end_ - cursor_;
    line_begin_ = cursor_;
    if (const void* const found = std::memchr(cursor_ + searched, '\n', size - searched); found != nullptr) {
      const char* const newline = static_cast<const char*>(found);
      return Take(newline, newline + 1, line);
    }
    searched = size;
    if (size > kMaxLine) {
      status_ = absl::InvalidArgumentError(absl::StrCat(path_, ":", line_number_ + 1, ": a line of more than ",
                                                        kMaxLine >> 20, " MiB, expected a text file"));
      break;
    }
  }
  line_begin_ = cursor_;
  // The line before an error may be cut off, so it is not returned.
  if (cursor_ == end_ || !status_.ok()) return false;
  const size_t size = end_ - cursor_;
  last_line_.assign(cursor_, end_);
  last_line_.push_back('\0');
  cursor_ = last_line_.data();
  absl::string_view taken;
  Take(cursor_ + size, nullptr, &taken);
  *line = taken;
  cursor_ = end_;
  return true;
}

}  // namespace rutile
