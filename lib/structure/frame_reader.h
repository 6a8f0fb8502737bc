// Base class and helpers of the readers of text formats: lines, names of frames, the form of messages, checks of a
// frame.

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
#include "lib/file/line_reader.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// Reads frames of a text format; a format implements ReadFrame. The vectors of `structure` are reused from frame to
// frame, so nothing is allocated once they have the size of the largest frame.
class FrameReader : public StructureReader {
 public:
  explicit FrameReader(LineReader lines);

  // Reads the next frame and names it. After an error it returns the same error again.
  absl::StatusOr<bool> Next(Structure* structure) final;

 protected:
  // Fills `structure` except its name; false at the end. `structure` still contains the previous frame, but for
  // energy_key and force_key, which are empty.
  virtual absl::StatusOr<bool> ReadFrame(Structure* structure) = 0;

  LineReader& lines() { return lines_; }

  // Reads the next line that is not blank; false at the end.
  bool NextFilledLine(absl::string_view* line);

  // Returns INVALID_ARGUMENT "path:line: message" for the last line read, or for `line_number`.
  template <typename... Parts>
  absl::Status Error(const Parts&... parts) const {
    return ErrorAt(lines_.line_number(), absl::StrCat(parts...));
  }
  absl::Status ErrorAt(int64_t line_number, absl::string_view message) const;

  // Returns the error of a file that ends within a frame: the read error if there was one, or a message that says what
  // is missing.
  template <typename... Parts>
  absl::Status CutOff(const Parts&... parts) const {
    if (!lines_.status().ok()) return lines_.status();
    return Error(parts..., "; the file is cut off, get it again or remove the frame");
  }

  // Parses a number of atoms that the file states: positive, at most 2^31 - 1.
  absl::StatusOr<int64_t> CheckAtomCount(absl::string_view word) const;

  // Makes room for row `row` of at most `count` rows of coordinates (the count that the file states), in steps that a
  // false count cannot make large.
  void MakeRoom(int64_t row, int64_t count, bool has_force, Structure* structure) const;

  // Makes room for row `row` if the file states no count; the caller trims the vectors in the end.
  static void MakeMoreRoom(int64_t row, bool has_force, Structure* structure);

  // Checks that the periodic directions span a cell. `line_number` is the line of the cell.
  absl::Status CheckCell(const Structure& structure, int64_t line_number) const;

 private:
  LineReader lines_;
  std::string name_;
  int64_t frame_ = 0;
  absl::Status status_;
};

// Parses three numbers at *p, each followed by a blank or the end, and moves *p behind them; false if there are not
// three.
bool ParseTriple(const char** p, const char* end, double* out);

// Returns the text for a message: quoted, control characters escaped, at most 40 characters.
std::string Quoted(absl::string_view text);

// Counts the words of a line, for messages.
int CountWords(absl::string_view line);

// Says why a word is no number: "'x' is not a number", "'nan' is not finite" and so on.
std::string WhyNoNumber(absl::string_view word);

// Sets `info` to exactly these entries, without allocating if it had the same keys before. Of equal keys the last
// counts.
void SetInfo(const std::vector<std::pair<absl::string_view, absl::string_view>>& entries,
             std::map<std::string, std::string>* info);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_FRAME_READER_H_
