#include "lib/structure/frame_reader.h"

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// A format in which each line is a frame, and "bad" is an error.
class LineFrames : public FrameReader {
 public:
  using FrameReader::CheckAtomCount;
  using FrameReader::CheckCell;
  using FrameReader::FrameReader;
  using FrameReader::MakeRoom;

 protected:
  absl::StatusOr<bool> ReadFrame(Structure* structure) override {
    absl::string_view line;
    if (!NextFilledLine(&line)) return false;
    if (line == "bad") return Error("found ", Quoted(line), ", expected good");
    return true;
  }
};

LineFrames Reader(const std::string& text) { return LineFrames(LineReader::FromBytes("dir/f.x", text)); }

TEST(FrameReaderTest, OnlyFrameHasTheNameOfTheFile) {
  LineFrames reader = Reader("\na\n \n\n");
  Structure structure;
  ASSERT_TRUE(*reader.Next(&structure));
  EXPECT_EQ(structure.name, "dir/f.x");
  EXPECT_FALSE(*reader.Next(&structure));
  EXPECT_FALSE(*reader.Next(&structure));
}

TEST(FrameReaderTest, FramesAreCountedFromZero) {
  LineFrames reader = Reader("a\nb\n");
  Structure structure;
  ASSERT_TRUE(*reader.Next(&structure));
  EXPECT_EQ(structure.name, "dir/f.x#0");
  ASSERT_TRUE(*reader.Next(&structure));
  EXPECT_EQ(structure.name, "dir/f.x#1");
  EXPECT_FALSE(*reader.Next(&structure));
}

TEST(FrameReaderTest, ErrorsStay) {
  LineFrames reader = Reader("a\nbad\nc\n");
  Structure structure;
  ASSERT_TRUE(*reader.Next(&structure));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(reader.Next(&structure).status(), absl::InvalidArgumentError("dir/f.x:2: found 'bad', expected good"));
  }
}

TEST(FrameReaderTest, RoomForAFalseCountIsBoundedByTheInput) {
  const LineFrames reader = Reader(std::string(7000, 'x'));
  Structure structure;
  reader.MakeRoom(0, 2000000000, true, &structure);
  EXPECT_LE(structure.size(), 1001);
  EXPECT_EQ(structure.force.size(), structure.position.size());
  reader.MakeRoom(0, 3, false, &structure);
  EXPECT_EQ(structure.size(), 3);
  EXPECT_TRUE(structure.force.empty());
}

TEST(FrameReaderTest, CellMustHaveAVolumeWhereItIsPeriodic) {
  const LineFrames reader = Reader("x");
  Structure structure;
  EXPECT_TRUE(reader.CheckCell(structure, 1).ok());
  structure.cell = {1e-2, 0, 0, 0, 1e5, 0, 0, 0, 3};  // thin, but valid
  structure.pbc = {true, true, true};
  EXPECT_TRUE(reader.CheckCell(structure, 1).ok());
  structure.cell = {3, 0, 0, 0, 3, 0, 3, 3, 1e-7};
  EXPECT_THAT(reader.CheckCell(structure, 7), ErrorNames({"dir/f.x:7", "singular"}));
  structure.pbc = {true, true, false};
  EXPECT_TRUE(reader.CheckCell(structure, 1).ok());
  structure.cell = {3, 0, 0, -6, 0, 0, 0, 0, 1};
  EXPECT_FALSE(reader.CheckCell(structure, 1).ok());
  structure.pbc = {true, false, true};
  EXPECT_TRUE(reader.CheckCell(structure, 1).ok());
}

TEST(FrameReaderTest, AtomCounts) {
  const LineFrames reader = Reader("x");
  EXPECT_EQ(*reader.CheckAtomCount(" 12 "), 12);
  EXPECT_EQ(*reader.CheckAtomCount("2147483647"), 2147483647);
  for (const char* word : {"0", "-1", "2147483648", "1e3", "x", ""}) EXPECT_FALSE(reader.CheckAtomCount(word).ok());
}

TEST(FrameReaderTest, SetInfoHoldsExactlyWhatIsGiven) {
  std::map<std::string, std::string> info = {{"a", "1"}, {"b", "2"}};
  SetInfo({{"b", "3"}, {"a", "4"}}, &info);
  EXPECT_THAT(info, ElementsAre(Pair("a", "4"), Pair("b", "3")));
  SetInfo({{"a", "5"}, {"a", "6"}}, &info);
  EXPECT_THAT(info, ElementsAre(Pair("a", "6")));
  SetInfo({{"c", "7"}}, &info);
  EXPECT_THAT(info, ElementsAre(Pair("c", "7")));
  SetInfo({}, &info);
  EXPECT_TRUE(info.empty());
}

TEST(FrameReaderTest, Messages) {
  EXPECT_EQ(Quoted("a\tb\x01"), "'a\\x09b\\x01'");
  EXPECT_EQ(Quoted(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
  EXPECT_EQ(CountWords(" a  b\tc "), 3);
  EXPECT_EQ(CountWords(""), 0);
  EXPECT_EQ(WhyNoNumber("-NaN"), "'-NaN' is not finite");
  EXPECT_EQ(WhyNoNumber("1e999"), "'1e999' is too large");
  EXPECT_EQ(WhyNoNumber("x1"), "'x1' is not a number");
}

}  // namespace
}  // namespace rutile
