// Reads structures from text in memory, for tests.

#ifndef RUTILE_LIB_STRUCTURE_READ_TEXT_H_
#define RUTILE_LIB_STRUCTURE_READ_TEXT_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/file/line_reader.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// All frames of a text, and the error that ended reading ("" at a proper end). The file is called "f". One Structure
// with other content is reused for all frames, as callers do.
struct ReadText {
  explicit ReadText(const std::string& text, const StructureReaderOptions& options = {}) {
    auto reader = OpenStructureReader(LineReader::FromBytes("f", text), options);
    if (!reader.ok()) {
      error = std::string(reader.status().message());
      return;
    }
    Structure structure;
    structure.energy = 1e9;
    structure.element = {1, 1};
    structure.force = {9, 9, 9, 9, 9, 9};
    structure.stress = Matrix3{9};
    structure.pbc = {true, false, true};
    structure.cell = {7, 7, 7};
    structure.info = {{"old", "old"}};
    while (true) {
      const auto more = (*reader)->Next(&structure);
      if (!more.ok()) {
        error = std::string(more.status().message());
        EXPECT_EQ(more.status().code(), absl::StatusCode::kInvalidArgument) << error;
        EXPECT_EQ((*reader)->Next(&structure).status(), more.status());
        return;
      }
      if (!*more) return;
      frames.push_back(structure);
    }
  }

  std::vector<Structure> frames;
  std::string error;
};

// Returns the frames of a text without errors.
inline std::vector<Structure> Frames(const std::string& text, const StructureReaderOptions& options = {}) {
  const ReadText read(text, options);
  EXPECT_EQ(read.error, "");
  return read.frames;
}

// Returns the only frame of a text without errors.
inline Structure Frame(const std::string& text, const StructureReaderOptions& options = {}) {
  const std::vector<Structure> frames = Frames(text, options);
  EXPECT_EQ(frames.size(), 1);
  return frames.empty() ? Structure() : frames[0];
}

inline std::string ReadError(const std::string& text, const StructureReaderOptions& options = {}) {
  return ReadText(text, options).error;
}

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_READ_TEXT_H_
