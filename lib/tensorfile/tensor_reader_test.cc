#include "lib/tensorfile/tensor_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// Makes a file with any header, right or wrong.
std::string File(absl::string_view json, absl::string_view data, int64_t length = -1) {
  if (length < 0) length = json.size();
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return absl::StrCat(bytes, json, data);
}

std::string Entry(absl::string_view name, absl::string_view dtype, absl::string_view shape, int64_t begin,
                  int64_t end) {
  return absl::StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape, ",\"data_offsets\":[", begin, ",",
                      end, "]}");
}

absl::StatusOr<TensorFile> Parse(const std::string& bytes, bool verify = false) {
  auto owner = std::make_shared<const std::string>(bytes);
  return ParseTensorFile("x.safetensors", *owner, owner, {verify});
}

std::string Message(const std::string& bytes) {
  const auto file = Parse(bytes);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status().message()), StartsWith("x.safetensors: "));
  return std::string(file.status().message().substr(15));
}

// Two tensors and metadata, 8 + header + 20 bytes.
std::string SmallFile() {
  return File(absl::StrCat("{", R"("__metadata__":{"kind":"test/1"},)", Entry("a", "F32", "[2,2]", 0, 16), ",",
                           Entry("b", "U8", "[4]", 16, 20), "}"),
              std::string(16, '\0') + "\x01\x02\x03\x04");
}

TEST(ParseTensorFileTest, ReadsTensorsAndMetadata) {
  const auto file = Parse(SmallFile());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->path, "x.safetensors");
  EXPECT_EQ(file->metadata, (Metadata{{"kind", "test/1"}}));
  EXPECT_THAT(file->tensors.At("a").shape(), ElementsAre(2, 2));
  EXPECT_THAT(file->tensors.At("b").values<uint8_t>(), ElementsAre(1, 2, 3, 4));
}

TEST(ParseTensorFileTest, AcceptsPaddingEmptyTensorsAndScalars) {
  const auto file = Parse(
      File(absl::StrCat("{", Entry("empty", "F64", "[0,3]", 2, 2), ",", Entry("scalar", "I16", "[]", 0, 2), "}      "),
           "\x05\x01"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->tensors.At("scalar").values<int16_t>(), ElementsAre(261));
  EXPECT_THAT(file->tensors.At("empty").shape(), ElementsAre(0, 3));
  EXPECT_TRUE(Parse(File("{}", "")).ok());
  EXPECT_TRUE(Parse(File(R"({"__metadata__":{}})", "")).ok());
}

TEST(ParseTensorFileTest, EveryTruncationIsAnError) {
  const std::string whole = SmallFile();
  ASSERT_TRUE(Parse(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto file = Parse(whole.substr(0, size));
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_THAT(std::string(file.status().message()), StartsWith("x.safetensors: ")) << size;
  }
  EXPECT_EQ(Message(whole.substr(0, 0)), "the file is empty, expected a safetensors file");
  EXPECT_THAT(Message(whole.substr(0, 5)), ErrorNames({"cut off", "5 bytes"}));
  EXPECT_THAT(Message(whole.substr(0, 20)), ErrorNames({"cut off", "header"}));
  EXPECT_EQ(Message(whole.substr(0, whole.size() - 1)),
            "tensor \"b\": bytes 16..20 lie outside the file's data of 19 bytes; the file was cut off");
}

TEST(ParseTensorFileTest, EveryChangedByteIsReadOrAnError) {
  const std::string whole = SmallFile();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const auto file = Parse(changed);
      if (!file.ok()) {
        EXPECT_THAT(std::string(file.status().message()), StartsWith("x.safetensors: "));
      }
    }
  }
}

TEST(ParseTensorFileTest, NotATensorFile) {
  EXPECT_EQ(Message("CRYSTAL\nPRIMVEC\n"), "this is text, expected a safetensors file");
  EXPECT_THAT(Message(File("{}", "", 100000001)), ErrorNames({"100000001", "at most 100000000"}));
  EXPECT_THAT(Message("\x7f"
                      "ELF\x02\x01\x01\x03 and more"),
              ErrorNames({"not a safetensors file"}));
  EXPECT_EQ(Message(File("[]", "")), "not a safetensors file: the header does not start with '{' at byte 8");
  EXPECT_EQ(Message(File(" {}", "")), "not a safetensors file: the header does not start with '{' at byte 8");
  EXPECT_EQ(Message(File("{}", "", 0)), "not a safetensors file: a header of 0 bytes");
  EXPECT_EQ(Message(File("{}", "", 3)), "cut off: the header has 3 bytes, 2 are left");
  EXPECT_EQ(Message(File("{}", "", 100000000)), "cut off: the header has 100000000 bytes, 2 are left");
  EXPECT_EQ(Message(File(absl::string_view("{}\0", 3), "")), "header byte 2: NUL, expected JSON padded with spaces");
}

TEST(ParseTensorFileTest, TensorsCoverTheDataOnce) {
  const std::string data(16, '\0');
  EXPECT_EQ(Message(File("{" + Entry("a", "F32", "[2]", 0, 8) + "}", data)),
            "8 bytes follow the last tensor, expected the end of the file");
  EXPECT_EQ(Message(File("{}", "x")), "1 bytes follow the last tensor, expected the end of the file");
  EXPECT_EQ(Message(File("{" + Entry("a", "F32", "[2]", 8, 16) + "}", data)),
            "tensor \"a\": before its bytes 8..16 is a hole from 0 on");
  EXPECT_EQ(Message(File("{" + Entry("a", "F32", "[1]", 0, 4) + "," + Entry("b", "F32", "[2]", 8, 16) + "}", data)),
            "tensor \"b\": before its bytes 8..16 is a hole from 4 on");
  EXPECT_EQ(Message(File("{" + Entry("b", "F32", "[3]", 4, 16) + "," + Entry("a", "F32", "[2]", 0, 8) + "}", data)),
            "tensor \"b\": bytes 4..16 overlap those of \"a\", 0..8");
  EXPECT_EQ(Message(File("{" + Entry("a", "F32", "[4]", 0, 16) + "," + Entry("b", "F32", "[4]", 0, 16) + "}", data)),
            "tensor \"b\": bytes 0..16 overlap those of \"a\", 0..16");
  EXPECT_EQ(Message(File("{" + Entry("a", "F32", "[5]", 0, 20) + "}", data)),
            "tensor \"a\": bytes 0..20 lie outside the file's data of 16 bytes; the file was cut off");
  EXPECT_THAT(Message(File("{" + Entry("a", "U8", "[0]", INT64_MAX, INT64_MAX) + "}", "")),
              ErrorNames({"tensor \"a\"", absl::StrCat(INT64_MAX), "outside"}));
}

TEST(ParseTensorFileTest, BooleansAreZeroOrOne) {
  const std::string header = "{" + Entry("pbc", "BOOL", "[3]", 0, 3) + "}";
  EXPECT_TRUE(Parse(File(header, absl::string_view("\0\x01\x01", 3))).ok());
  EXPECT_EQ(Message(File(header, absl::string_view("\0\x01\x02", 3))),
            "tensor \"pbc\": element 2 is 2, expected 0 or 1 in a BOOL");
}

TEST(ParseTensorFileTest, ViewsWhatIsAlignedAndCopiesTheRest) {
  // The header's length determines where the data start.
  for (int shift = 0; shift < 8; ++shift) {
    const double value = 1.5 + shift;
    std::string data(8, '\0');
    std::memcpy(&data[0], &value, 8);
    const std::string bytes = File("{" + Entry("d", "F64", "[1]", 0, 8) + "}" + std::string(shift, ' '), data);
    auto owner = std::make_shared<const std::string>(bytes);
    const auto file = ParseTensorFile("x", *owner, owner);
    ASSERT_TRUE(file.ok()) << file.status();
    const Tensor& tensor = file->tensors.At("d");
    EXPECT_THAT(tensor.values<double>(), ElementsAre(value));
    const char* const in_file = owner->data() + bytes.size() - 8;
    EXPECT_EQ(tensor.data() == in_file, reinterpret_cast<uintptr_t>(in_file) % 8 == 0);
  }
}

TEST(ParseTensorFileTest, TensorsKeepTheBytesAlive) {
  auto owner = std::make_shared<const std::string>(SmallFile());
  std::weak_ptr<const std::string> watch = owner;
  Tensor tensor = ParseTensorFile("x", *owner, owner)->tensors.At("b");
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_THAT(tensor.values<uint8_t>(), ElementsAre(1, 2, 3, 4));
  tensor = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(ParseTensorFileTest, VerifiesChecksums) {
  const auto with_checksum = [](absl::string_view crc) {
    return File(absl::StrCat(R"({"__metadata__":{"crc32c.t":")", crc, "\"},", Entry("t", "U8", "[9]", 0, 9), "}"),
                "123456789");
  };
  EXPECT_TRUE(Parse(with_checksum("e3069283"), true).ok());
  EXPECT_TRUE(Parse(with_checksum("00000000"), false).ok());
  const auto file = Parse(with_checksum("00000000"), true);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(file.status().message(),
            "x.safetensors: tensor \"t\": CRC32C is e3069283, the file was written with 00000000; its bytes were "
            "changed since: make it again, or leave crc32c.t out of the metadata if they are meant");
  EXPECT_FALSE(Parse(with_checksum(""), true).ok());
  EXPECT_TRUE(Parse(SmallFile(), true).ok()) << "no checksum recorded";
}

TEST(ReadTensorFileTest, VerifiesChecksumsUnlessItOnlyLooks) {
  const std::string path = ::testing::TempDir() + "/changed.safetensors";
  const std::string metadata = R"({"__metadata__":{"crc32c.t":"00000000"},)";
  ASSERT_TRUE(WriteFileAtomically(path, File(metadata + Entry("t", "U8", "[9]", 0, 9) + "}", "123456789")).ok());
  EXPECT_EQ(ReadTensorFile(path).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LookIntoTensorFile(path).value().metadata.at("crc32c.t"), "00000000");
}

TEST(ReadTensorFileTest, MissingDirectoryAndEmpty) {
  const std::string path = ::testing::TempDir() + "/none.safetensors";
  EXPECT_EQ(ReadTensorFile(path).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadTensorFile(::testing::TempDir()).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(path, "").ok());
  EXPECT_EQ(ReadTensorFile(path).status().message(), path + ": the file is empty, expected a safetensors file");
}

// Writes pieces smaller than a page to a waiting reader.
void WriteSlowly(int fd, absl::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(bytes.size(), 1000))) {
    ASSERT_GT(::write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1000)), 0);
  }
  ::close(fd);
}

TEST(ReadTensorFileTest, StandardInput) {
  const std::string data(300000, '\x01');
  const std::string bytes = File("{" + Entry("big", "U8", "[300000]", 0, 300000) + "}", data);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int saved = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  ::close(ends[0]);
  std::thread writer([&] { WriteSlowly(ends[1], bytes); });
  const auto file = ReadTensorFile("-");
  writer.join();
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->path, "standard input");
  EXPECT_EQ(file->tensors.At("big").num_elements(), 300000);
}

TEST(ReadTensorFileTest, NamedPipe) {
  const std::string path = ::testing::TempDir() + "/pipe";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(LooksLikeTensorFile(path)) << "and does not wait for a writer";
  std::thread writer([&] { WriteSlowly(::open(path.c_str(), O_WRONLY), SmallFile()); });
  const auto file = ReadTensorFile(path);
  writer.join();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tensors.size(), 2);
}

// A pipe that the process was given is looked into without taking its bytes, and may be read by its name repeatedly.
TEST(LooksLikeTensorFileTest, LooksIntoAPipeThatItWasGiven) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string name = absl::StrCat("/dev/fd/", ends[0]);
  std::thread writer([&] { WriteSlowly(ends[1], SmallFile()); });
  EXPECT_TRUE(LooksLikeTensorFile(name));
  EXPECT_TRUE(LooksLikeTensorFile(name));
  for (int time = 0; time < 2; ++time) {
    const auto file = ReadTensorFile(name);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->tensors.size(), 2);
    EXPECT_TRUE(LooksLikeTensorFile(name)) << "it was read, and is what it was";
  }
  writer.join();
  ::close(ends[0]);
  for (const std::string& text : {std::string("2\nProperties"), std::string("ab"), std::string()}) {
    ASSERT_EQ(::pipe(ends), 0);
    WriteSlowly(ends[1], text);
    EXPECT_FALSE(LooksLikeTensorFile(absl::StrCat("/dev/fd/", ends[0]))) << text;
    std::string read(100, ' ');
    EXPECT_EQ(::read(ends[0], read.data(), read.size()), static_cast<ssize_t>(text.size())) << "nothing was taken";
    ::close(ends[0]);
  }
}

TEST(LooksLikeTensorFileTest, LooksAtNineBytes) {
  const std::string path = ::testing::TempDir() + "/looks";
  const auto looks = [&](const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return LooksLikeTensorFile(path);
  };
  EXPECT_TRUE(looks(SmallFile()));
  EXPECT_TRUE(looks(SmallFile().substr(0, 9)));
  EXPECT_FALSE(looks(SmallFile().substr(0, 8)));
  EXPECT_FALSE(looks(""));
  EXPECT_FALSE(looks("CRYSTAL\n{\n"));
  EXPECT_FALSE(looks(File("[]", "")));
  EXPECT_FALSE(looks(File("{}", "", 1)));
  EXPECT_FALSE(looks(File("{}", "", 100000001)));
  EXPECT_FALSE(LooksLikeTensorFile("-"));
  EXPECT_FALSE(LooksLikeTensorFile(path + ".none"));
  EXPECT_FALSE(LooksLikeTensorFile(::testing::TempDir()));
}

}  // namespace
}  // namespace rutile
