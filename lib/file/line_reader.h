// Reads text line by line without copying, from a mapped file or, through a refilled buffer, from a pipe or gzip
// stream.

#ifndef RUTILE_LIB_FILE_LINE_READER_H_
#define RUTILE_LIB_FILE_LINE_READER_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Source of bytes that are not all in memory; see line_reader.cc.
class ByteSource;

// Reads the lines of a text file, plain or gzip, for parsers of all text formats.
//
//   ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
//   absl::string_view line;
//   while (reader.Next(&line)) ...
//   RETURN_IF_ERROR(reader.status());
//
// Lines end in \n or \r\n; the last line may lack an end. A UTF-8 byte order mark at the start is skipped. gzip is
// recognized by its first bytes, and may have several members. Files of other compressions and archives are refused by
// their first bytes, with the command that makes text of them (file_magic.h). A reader takes 1 MiB of memory, or twice
// the longest line, plus mapped pages, which the kernel may drop.
class LineReader {
 public:
  // Opens a file; "-" is standard input. Fails with NOT_FOUND, PERMISSION_DENIED, or INVALID_ARGUMENT for a directory
  // or a compressed file that is not gzip; the message starts with the path. An empty file is no error.
  static absl::StatusOr<LineReader> Open(absl::string_view path);
  // Reads from bytes in memory; `path` is for messages. What Open refuses has no lines here, and status() says why.
  static LineReader FromBytes(absl::string_view path, std::string bytes);

  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // Reads the next line, without its end, into `line`, which is valid until the next call of a non-const member.
  // Returns false at the end or after an error (see status()). The byte behind the line, line.data()[line.size()], may
  // be read: it is \n, \r or \0.
  bool Next(absl::string_view* line) {
    line_begin_ = cursor_;
    const char* const newline =
        cursor_ == end_ ? nullptr : static_cast<const char*>(std::memchr(cursor_, '\n', end_ - cursor_));
    if (newline == nullptr) return NextSlow(line);
    return Take(newline, newline + 1, line);
  }

  // Makes Next() return the last line again. May be called once after a Next() that returned true.
  void PutBack() {
    cursor_ = line_begin_;
    --line_number_;
  }

  // Returns bytes not yet consumed: at least n, or all that are left. They are valid as long as a line is. Errors show
  // in Next() and status().
  absl::string_view Prefix(size_t n);

  // Not OK if reading failed, or gzip data are damaged or truncated. The message starts with the path.
  const absl::Status& status() const { return status_; }
  // Number of the line that Next() returned last, counted from 1.
  int64_t line_number() const { return line_number_; }
  // The path as given; "standard input" for "-".
  const std::string& path() const { return path_; }
  // An upper bound of the bytes that follow; the largest int64_t if unknown.
  int64_t BytesLeftAtMost() const;

 private:
  explicit LineReader(std::string path);

  bool Take(const char* line_end, const char* next, absl::string_view* line) {
    if (line_end != cursor_ && line_end[-1] == '\r') --line_end;
    *line = absl::string_view(cursor_, line_end - cursor_);
    cursor_ = next;
    ++line_number_;
    return true;
  }
  bool NextSlow(absl::string_view* line);
  // Moves unread bytes to the front of the buffer and reads more behind them; false at the end and after an error.
  bool Refill();
  // Starts reading from bytes that are all in memory, gzip or not. Returns the error of StartText.
  absl::Status StartInMemory(absl::string_view bytes, std::shared_ptr<const void> owner);
  // Skips a byte order mark. INVALID_ARGUMENT, also as status(), if the bytes are compressed; then there are no lines.
  absl::Status StartText();

  std::string path_;
  std::shared_ptr<const void> owner_;   // keeps the mapped or given bytes alive
  std::unique_ptr<ByteSource> source_;  // null: all bytes are in [cursor_, end_)
  std::vector<char> buffer_;
  std::vector<char> last_line_;  // a copy with a \0 behind it, when no line end follows
  const char* line_begin_ = nullptr;
  const char* cursor_ = nullptr;
  const char* end_ = nullptr;
  int64_t line_number_ = 0;
  absl::Status status_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_LINE_READER_H_
