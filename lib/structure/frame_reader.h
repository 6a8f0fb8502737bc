// What the readers of text formats share: lines, names of frames, the form of messages, checks of a frame.

#ifndef RUTILE_LIB_STRUCTURE_FRAME_READER_H_
#define RUTILE_LIB_STRUCTURE_FRAME_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/line_reader.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// A format implements ReadFrame. The vectors of `structure` are reused from frame to frame: nothing is allocated once
// they have the size of the largest.
class FrameReader : public StructureReader {
 public:
  explicit FrameReader(LineReader lines);

  // Once an error is returned it is returned again.
  absl::StatusOr<bool> Next(Structure* structure) final;

 protected:
  // Fills all but the name; false at the end. `structure` still holds the frame before.
  virtual absl::StatusOr<bool> ReadFrame(Structure* structure) = 0;

  LineReader& lines() { return lines_; }

  // The next line that is not blank; false at the end.
  bool NextFilledLine(absl::string_view* line);

  // INVALID_ARGUMENT "path:line: message", for the last line read or for `line_number`.
  template <typename... Parts>
  absl::Status Error(const Parts&... parts) const {
    return ErrorAt(lines_.line_number(), absl::StrCat(parts...));
  }
  absl::Status ErrorAt(int64_t line_number, absl::string_view message) const;

  // For a file that ends within a frame: why reading failed, or an error that says what is missing.
  template <typename... Parts>
  absl::Status CutOff(const Parts&... parts) const {
    if (!lines_.status().ok()) return lines_.status();
    return Error(parts..., "; the file is cut off, get it again or remove the frame");
  }

  // Of a number of atoms that the file states: positive, at most 2^31 - 1.
  absl::StatusOr<int64_t> CheckAtomCount(absl::string_view word) const;

  // Row `row` of coordinates as the file has it: makes room for it, up to `count` rows, in steps that a false count
  // cannot make large.
  void MakeRoom(int64_t row, int64_t count, bool has_force, Structure* structure) const;

  // The same where the file states no number: to be cut to length in the end.
  static void MakeMoreRoom(int64_t row, bool has_force, Structure* structure);

  // Periodic directions must span a cell. `line_number` is where the cell stands.
  absl::Status CheckCell(const Structure& structure, int64_t line_number) const;

 private:
  LineReader lines_;
  std::string name_;
  int64_t frame_ = 0;
  absl::Status status_;
};

// Three numbers at *p, moved behind them; false unless three numbers stand there, each followed by a blank or the end.
bool ParseTriple(const char** p, const char* end, double* out);

// The value as it may stand in a message: quoted, control characters escaped, at most 40 characters.
std::string Quoted(absl::string_view text);

// Words of a line, for messages.
int CountWords(absl::string_view line);

// What is wrong with a number: "'x' is not a number", "'nan' is not finite" and so on.
std::string WhyNoNumber(absl::string_view word);

// Makes `info` hold exactly these, without allocating when it held the same keys before. Of equal keys the last counts.
void SetInfo(const std::vector<std::pair<absl::string_view, absl::string_view>>& entries,
             std::map<std::string, std::string>* info);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_FRAME_READER_H_
