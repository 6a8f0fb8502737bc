#include "lib/file/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/file/file.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Gzip(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out.size();
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::vector<std::string> Lines(LineReader* reader) {
  std::vector<std::string> lines;
  absl::string_view line;
  while (reader->Next(&line)) {
    const char behind = line.data()[line.size()];
    EXPECT_TRUE(behind == '\n' || behind == '\r' || behind == '\0') << static_cast<int>(behind);
    lines.emplace_back(line);
  }
  return lines;
}

// Many lines of awkward lengths, some longer than the buffer.
std::string ManyLines() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::string(i % 37, 'a' + i % 26) + "\n";
  text += std::string(5 << 20, 'x') + "\r\n" + std::string(1 << 20, 'y');
  return text;
}

std::string WriteTemporary(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  return path;
}

TEST(LineReaderTest, SplitsAtBothLineEnds) {
  LineReader reader = LineReader::FromBytes("x", "a\nb\r\n\n\r\nlast");
  EXPECT_THAT(Lines(&reader), ElementsAre("a", "b", "", "", "last"));
  EXPECT_EQ(reader.line_number(), 5);
  EXPECT_TRUE(reader.status().ok());
}

TEST(LineReaderTest, CarriageReturnAloneIsKeptWithinALine) {
  LineReader reader = LineReader::FromBytes("x", "a\rb\n\r\r\nc\r");
  EXPECT_THAT(Lines(&reader), ElementsAre("a\rb", "\r", "c"));
}

TEST(LineReaderTest, EmptyAndEndOfFile) {
  LineReader empty = LineReader::FromBytes("x", "");
  EXPECT_THAT(Lines(&empty), IsEmpty());
  EXPECT_EQ(empty.line_number(), 0);
  LineReader no_extra_line = LineReader::FromBytes("x", "a\n");
  EXPECT_THAT(Lines(&no_extra_line), ElementsAre("a"));
  absl::string_view line;
  EXPECT_FALSE(no_extra_line.Next(&line));
}

TEST(LineReaderTest, SkipsByteOrderMark) {
  LineReader reader = LineReader::FromBytes("x",
                                            "\xEF\xBB\xBF"
                                            "a\n");
  EXPECT_THAT(Lines(&reader), ElementsAre("a"));
}

TEST(LineReaderTest, PutBackGivesTheLineAgain) {
  for (const bool gzip : {false, true}) {
    LineReader reader = LineReader::FromBytes("x", gzip ? Gzip("a\nbb") : "a\nbb");
    absl::string_view line;
    for (const std::string expected : {"a", "bb"}) {
      ASSERT_TRUE(reader.Next(&line));
      EXPECT_EQ(line, expected);
      const int64_t number = reader.line_number();
      reader.PutBack();
      ASSERT_TRUE(reader.Next(&line));
      EXPECT_EQ(line, expected);
      EXPECT_EQ(reader.line_number(), number);
    }
    EXPECT_FALSE(reader.Next(&line));
  }
}

TEST(LineReaderTest, PrefixDoesNotConsume) {
  for (const bool gzip : {false, true}) {
    LineReader reader = LineReader::FromBytes("x", gzip ? Gzip("a\nbb\nc") : "a\nbb\nc");
    EXPECT_EQ(reader.Prefix(2).substr(0, 2), "a\n");
    absl::string_view line;
    ASSERT_TRUE(reader.Next(&line));
    EXPECT_EQ(reader.Prefix(100), "bb\nc");
    EXPECT_THAT(Lines(&reader), ElementsAre("bb", "c"));
  }
}

TEST(LineReaderTest, MappedFileGzipAndPipeGiveTheSame) {
  const std::string text = ManyLines();
  LineReader memory = LineReader::FromBytes("x", text);
  const std::vector<std::string> expected = Lines(&memory);
  ASSERT_EQ(expected.size(), 200002);
  const std::string plain_path = WriteTemporary("lines.txt", text);
  // Two members, the cut within a line.
  const std::string gzip = Gzip(text.substr(0, 1000001)) + Gzip(text.substr(1000001)) + std::string(7, '\0');
  const std::string gzip_path = WriteTemporary("lines.any_name", gzip);
  for (const std::string& path : {plain_path, gzip_path}) {
    auto reader = LineReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(Lines(&*reader), expected) << path;
    EXPECT_TRUE(reader->status().ok()) << reader->status();
  }
  const std::string pipe_path = ::testing::TempDir() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe_path.c_str(), 0600), 0);
  for (const std::string& bytes : {text, gzip}) {
    std::thread writer([&] {
      const int fd = ::open(pipe_path.c_str(), O_WRONLY);
      for (size_t i = 0; i < bytes.size();) {
        const ssize_t n = ::write(fd, bytes.data() + i, std::min<size_t>(bytes.size() - i, i == 0 ? 1 : 70001));
        ASSERT_GT(n, 0);
        i += n;
      }
      ::close(fd);
    });
    auto reader = LineReader::Open(pipe_path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(reader->BytesLeftAtMost(), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(Lines(&*reader), expected);
    writer.join();
  }
}

TEST(LineReaderTest, GzipCutOffAnywhereIsAnErrorWithThePath) {
  const std::string gzip = Gzip("one line\nanother line\n");
  for (size_t size = 2; size < gzip.size(); ++size) {
    LineReader reader = LineReader::FromBytes("a/b.gz", gzip.substr(0, size));
    Lines(&reader);
    EXPECT_EQ(reader.status().code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(std::string(reader.status().message()), HasSubstr("a/b.gz: the gzip data end too early"));
  }
}

TEST(LineReaderTest, DamagedGzip) {
  std::string gzip = Gzip("one line\nanother line\n");
  gzip[gzip.size() - 6] ^= 1;  // the checksum
  LineReader reader = LineReader::FromBytes("a.gz", gzip);
  Lines(&reader);
  EXPECT_THAT(std::string(reader.status().message()), HasSubstr("a.gz: the gzip data are damaged"));
  LineReader trailing = LineReader::FromBytes("a.gz", Gzip("x\n") + "junk");
  EXPECT_THAT(Lines(&trailing), ElementsAre("x"));
  EXPECT_THAT(std::string(trailing.status().message()), HasSubstr("behind the end"));
}

TEST(LineReaderTest, LineWithoutEndIsRefusedBeforeItFillsTheMemory) {
  std::string bomb;
  const std::string piece = Gzip(std::string(64 << 20, 'a'));
  for (int i = 0; i < 16; ++i) bomb += piece;
  LineReader reader = LineReader::FromBytes("bomb.gz", bomb);
  absl::string_view line;
  EXPECT_FALSE(reader.Next(&line));
  EXPECT_THAT(std::string(reader.status().message()), HasSubstr("bomb.gz:1: a line of more than 256 MiB"));
}

TEST(LineReaderTest, MovedReaderGoesOn) {
  LineReader first = LineReader::FromBytes("x", "a\nb");
  absl::string_view line;
  ASSERT_TRUE(first.Next(&line));
  LineReader second = std::move(first);
  EXPECT_THAT(Lines(&second), ElementsAre("b"));
}

TEST(LineReaderTest, OpenErrors) {
  EXPECT_EQ(LineReader::Open("/no/such/file").status().code(), absl::StatusCode::kNotFound);
  const auto directory = LineReader::Open(::testing::TempDir());
  EXPECT_EQ(directory.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(directory.status().message()), HasSubstr("is a directory"));
  auto empty = LineReader::Open(WriteTemporary("empty", ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_THAT(Lines(&*empty), IsEmpty());
}

// Files, memory and pipes of other compressions give their command instead of their bytes.
TEST(LineReaderTest, OtherCompressionsAreRefused) {
  const std::string xz("\xfd\x37zXZ\0\x00\x04", 8), bz2 = "BZh91AY&SY\x12\x34";
  for (const auto& [bytes, command] : {std::make_pair(xz, "xz -dc"), std::make_pair(bz2, "bzip2 -dc")}) {
    const std::string path = WriteTemporary("compressed", bytes);
    const auto opened = LineReader::Open(path);
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr(absl::StrCat(command, " ", path)));
    // Compressed twice, or in memory.
    for (const std::string& inner : {bytes, Gzip(bytes)}) {
      LineReader reader = LineReader::FromBytes("m", inner);
      EXPECT_THAT(Lines(&reader), IsEmpty());
      EXPECT_THAT(std::string(reader.status().message()), HasSubstr(command));
    }
    const std::string fifo = ::testing::TempDir() + "/compressed_fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::thread writer([&, bytes = bytes] {
      const int fd = ::open(fifo.c_str(), O_WRONLY);
      EXPECT_EQ(::write(fd, bytes.data(), 2), 2);  // the magic comes in pieces
      EXPECT_EQ(::write(fd, bytes.data() + 2, bytes.size() - 2), static_cast<ssize_t>(bytes.size() - 2));
      ::close(fd);
    });
    EXPECT_EQ(LineReader::Open(fifo).status().code(), absl::StatusCode::kInvalidArgument);
    writer.join();
    ::unlink(fifo.c_str());
  }
  const std::string tar = Gzip(std::string(257, 'a') + "ustar" + std::string(250, 'b'));
  EXPECT_THAT(std::string(LineReader::FromBytes("a.tar.gz", tar).status().message()), HasSubstr("tar -xf a.tar.gz"));
}

// The writer keeps its end open, so that without the signal these would wait for ever.
TEST(LineReaderTest, ASignalEndsTheWaitForASilentPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string path = absl::StrCat("/proc/self/fd/", ends[0]);
  std::thread user([] { SetInterrupt(SIGTERM); });
  EXPECT_THAT(LineReader::Open(path).status(), ErrorNames(absl::StatusCode::kCancelled, {"signal 15"}));
  user.join();
  EXPECT_THAT(FileContents::Open(path).status(), ErrorNames(absl::StatusCode::kCancelled, {"signal 15"}));
  // What is there is read, as a tool that ends may still need files.
  ASSERT_EQ(::write(ends[1], "ab\n", 3), 3);
  ::close(ends[1]);
  EXPECT_EQ(FileContents::Open(path)->data(), "ab\n");
  SetInterruptForTest(0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace rutile
