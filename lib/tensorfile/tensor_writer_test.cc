#include "lib/tensorfile/tensor_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Makes a new directory for the running test.
std::string TestDirectory() {
  std::string path = absl::StrCat(::testing::TempDir(), "/",
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".XXXXXX");
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  return path;
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const handle = ::opendir(directory.c_str());
  while (const dirent* const entry = ::readdir(handle)) {
    if (entry->d_name[0] != '.' || std::string(entry->d_name).size() > 2) names.push_back(entry->d_name);
  }
  ::closedir(handle);
  return names;
}

std::string Contents(const std::string& path) {
  const auto contents = FileContents::Open(path);
  EXPECT_TRUE(contents.ok()) << contents.status();
  return contents.ok() ? std::string(contents->data()) : "";
}

// Returns what `body` writes to standard output, which is a pipe.
std::string CapturedOutput(const std::function<void()>& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const int saved = ::dup(STDOUT_FILENO);
  ::dup2(ends[1], STDOUT_FILENO);
  ::close(ends[1]);
  std::string output;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) output.append(buffer, n);
  });
  body();
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  reader.join();
  ::close(ends[0]);
  return output;
}

NamedTensors TensorsOfEveryType() {
  NamedTensors tensors;
  tensors.Set("bool", Tensor::Of<bool>({true, false, true}, {3}));
  tensors.Set("u8", Tensor::Of<uint8_t>({1, 255}, {2, 1}));
  tensors.Set("i8", Tensor::Of<int8_t>({-1}, {1}));
  tensors.Set("u16", Tensor::Of<uint16_t>({65535, 1, 2}, {3}));
  tensors.Set("i16", Tensor::Of<int16_t>({-32768}, {}));
  Tensor f16 = Tensor::Zeros(DType::kF16, {2});
  static_cast<uint16_t*>(f16.mutable_data())[1] = 0x3c00;
  tensors.Set("f16", f16);
  tensors.Set("bf16", Tensor::Zeros(DType::kBF16, {1}));
  tensors.Set("u32", Tensor::Of<uint32_t>({4000000000}, {1}));
  tensors.Set("i32", Tensor::Of<int32_t>({-5, 5}, {1, 2}));
  tensors.Set("f32", Tensor::Of<float>({0.5f, -0.0f, 1e-40f}, {3}));
  tensors.Set("u64", Tensor::Of<uint64_t>({uint64_t{1} << 63}, {1}));
  tensors.Set("i64", Tensor::Of<int64_t>({INT64_MIN}, {1, 1, 1}));
  tensors.Set("f64", Tensor::Of<double>({1.0 / 3, 5e-324}, {2}));
  tensors.Set("empty", Tensor::Zeros(DType::kF64, {4, 0, 2}));
  tensors.Set("default", Tensor());
  return tensors;
}

void ExpectSame(const NamedTensors& read, const NamedTensors& written) {
  ASSERT_EQ(read.size(), written.size());
  for (const auto& [name, tensor] : written) {
    ASSERT_TRUE(read.Has(name)) << name;
    const Tensor& other = read.At(name);
    EXPECT_EQ(other.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(other.shape(), tensor.shape()) << name;
    EXPECT_EQ(absl::string_view(static_cast<const char*>(other.data()), other.num_bytes()),
              absl::string_view(static_cast<const char*>(tensor.data()), tensor.num_bytes()))
        << name;
  }
}

TEST(WriteTensorFileTest, EveryTypeComesBack) {
  const std::string path = TestDirectory() + "/x.safetensors";
  const Metadata metadata = {{"kind", "test/1"}, {"note", "\"ä\"\n"}};
  const NamedTensors tensors = TensorsOfEveryType();
  ASSERT_TRUE(WriteTensorFile(path, metadata, tensors).ok());
  const auto file = ReadTensorFile(path, {true});
  ASSERT_TRUE(file.ok()) << file.status();
  ExpectSame(file->tensors, tensors);
  EXPECT_EQ(file->metadata.at("note"), "\"ä\"\n");
  EXPECT_EQ(file->metadata.size(), metadata.size() + tensors.size()) << "a checksum for each tensor";
  // Every tensor is aligned to its elements, the first to 64 bytes, and mapped: nothing was copied.
  uintptr_t previous_end = 0;
  for (const auto& [name, tensor] : file->tensors) {
    const auto address = reinterpret_cast<uintptr_t>(tensor.data());
    EXPECT_EQ(address % ByteSize(tensor.dtype()), 0u) << name;
    if (previous_end == 0) {
      EXPECT_EQ(address % 64, 0u) << name;
    } else {
      EXPECT_EQ(address, previous_end) << name;
    }
    previous_end = address + tensor.num_bytes();
  }
}

TEST(WriteTensorFileTest, SameContentSameBytes) {
  const std::string directory = TestDirectory();
  for (const char* const name : {"/a", "/b"}) {
    ASSERT_TRUE(WriteTensorFile(directory + name, {{"k", "v"}}, TensorsOfEveryType()).ok());
  }
  EXPECT_EQ(Contents(directory + "/a"), Contents(directory + "/b"));
}

TEST(WriteTensorFileTest, NothingAtAll) {
  const std::string path = TestDirectory() + "/x.safetensors";
  ASSERT_TRUE(WriteTensorFile(path, {}, {}).ok());
  EXPECT_EQ(Contents(path).size(), 64u);
  EXPECT_TRUE(ReadTensorFile(path)->tensors.empty());
}

TEST(WriteTensorFileTest, ChecksumsOfAnInputAreNotHandedOn) {
  const std::string path = TestDirectory() + "/x.safetensors";
  NamedTensors tensors;
  tensors.Set("t", Tensor::Of(std::vector<float>{1}));
  ASSERT_TRUE(WriteTensorFile(path, {{"crc32c.t", "00000000"}, {"crc32c.old", "00000000"}}, tensors).ok());
  const auto file = ReadTensorFile(path, {true});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.size(), 1u);
}

TEST(WriteTensorFileTest, StandardOutputHasNoChecksums) {
  const std::string output = CapturedOutput([] {
    const absl::Status status = WriteTensorFile("-", {{"kind", "test/1"}, {"crc32c.f32", "0"}}, TensorsOfEveryType());
    EXPECT_TRUE(status.ok()) << status;
  });
  const auto file = ParseTensorFile("output", output, nullptr);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata, (Metadata{{"kind", "test/1"}}));
  ExpectSame(file->tensors, TensorsOfEveryType());
}

TEST(WriteTensorFileTest, RefusesATerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const int end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  const int saved = ::dup(STDOUT_FILENO);
  ::dup2(end, STDOUT_FILENO);
  const absl::Status status = WriteTensorFile("-", {}, {});
  const absl::Status stream_status = TensorStreamWriter::Create("-").status();
  ::dup2(saved, STDOUT_FILENO);
  for (const int fd : {saved, end, terminal}) ::close(fd);
  EXPECT_THAT(status, ErrorNames(absl::StatusCode::kInvalidArgument, {"standard output", "terminal"}));
  EXPECT_EQ(stream_status, status);
}

TEST(WriteTensorFileTest, WhatCannotBeWrittenLeavesTheOldFile) {
  const std::string directory = TestDirectory();
  const std::string path = directory + "/x.safetensors";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  const absl::Status status = WriteTensorFile(path, {{"k", "\xff"}}, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), absl::StrCat("cannot write ", path, ": metadata \"k\" is not UTF-8"));
  EXPECT_EQ(Contents(path), "old");
  EXPECT_THAT(FilesIn(directory), ElementsAre("x.safetensors"));
  EXPECT_EQ(WriteTensorFile("/dev/full", {}, TensorsOfEveryType()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(WriteTensorFile(directory + "/none/x", {}, {}).code(), absl::StatusCode::kNotFound);
}

// Rows of several sizes and types, more than the buffer of 1 MiB for some.
void AppendRows(TensorStreamWriter* writer, int num_rows) {
  ASSERT_TRUE(writer->Declare("flag", DType::kBool, {}).ok());
  ASSERT_TRUE(writer->Declare("number", DType::kI32, {3}).ok());
  ASSERT_TRUE(writer->Declare("value", DType::kF64, {2, 2}).ok());
  ASSERT_TRUE(writer->Declare("none", DType::kF64, {5}).ok());
  for (int row = 0; row < num_rows; ++row) {
    ASSERT_TRUE(writer->Append<bool>("flag", {row % 3 == 0}).ok());
    ASSERT_TRUE(writer->Append<int32_t>("number", {row, 2 * row, 3 * row}).ok());
    const double r = row;
    ASSERT_TRUE(writer->Append<double>("value", {r, r + 0.25, r + 0.5, r + 0.75}).ok());
  }
}

NamedTensors SameRows(int64_t num_rows) {
  Tensor flag = Tensor::Zeros(DType::kBool, {num_rows}), number = Tensor::Zeros(DType::kI32, {num_rows, 3});
  Tensor value = Tensor::Zeros(DType::kF64, {num_rows, 2, 2});
  for (int64_t row = 0; row < num_rows; ++row) {
    flag.mutable_values<bool>()[row] = row % 3 == 0;
    for (int64_t k = 0; k < 3; ++k) number.mutable_values<int32_t>()[3 * row + k] = (k + 1) * row;
    for (int64_t k = 0; k < 4; ++k) value.mutable_values<double>()[4 * row + k] = row + 0.25 * k;
  }
  NamedTensors tensors;
  tensors.Set("flag", flag);
  tensors.Set("number", number);
  tensors.Set("value", value);
  tensors.Set("none", Tensor::Zeros(DType::kF64, {0, 5}));
  return tensors;
}

// The bytes equal those of WriteTensorFile, for no rows, rows in the buffer, and rows beyond it.
TEST(TensorStreamWriterTest, EqualsWritingAtOnce) {
  const std::string directory = TestDirectory();
  for (const int num_rows : {0, 1, 1000, 100000}) {
    auto writer = TensorStreamWriter::Create(directory + "/stream");
    ASSERT_TRUE(writer.ok()) << writer.status();
    AppendRows(&*writer, num_rows);
    EXPECT_EQ(writer->rows("number"), num_rows);
    EXPECT_EQ(writer->rows("none"), 0);
    ASSERT_TRUE(writer->Finish({{"kind", "test/1"}}).ok());
    ASSERT_TRUE(WriteTensorFile(directory + "/whole", {{"kind", "test/1"}}, SameRows(num_rows)).ok());
    EXPECT_TRUE(Contents(directory + "/stream") == Contents(directory + "/whole")) << num_rows;
    const auto file = ReadTensorFile(directory + "/stream", {true});
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->tensors.At("number").dim(0), num_rows);
  }
  EXPECT_EQ(FilesIn(directory).size(), 2u);
}

TEST(TensorStreamWriterTest, LargeAppendsBetweenSmallOnes) {
  const std::string path = TestDirectory() + "/x.safetensors";
  auto writer = TensorStreamWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Declare("x", DType::kI32, {}).ok());
  std::vector<int32_t> all;
  for (const int size : {3, 1 << 19, 5, 0, 1 << 18, (1 << 18) - 5, 7, 1 << 20}) {
    std::vector<int32_t> part(size);
    for (int32_t& value : part) value = static_cast<int32_t>(all.size()), all.push_back(value);
    ASSERT_TRUE(writer->Append<int32_t>("x", part).ok());
  }
  ASSERT_TRUE(writer->Finish({}).ok());
  const auto file = ReadTensorFile(path, {true});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->tensors.At("x").values<int32_t>() == absl::MakeConstSpan(all));
}

TEST(TensorStreamWriterTest, ThroughAPipe) {
  // The spool files then lie in TMPDIR, and vanish at once.
  const std::string directory = TestDirectory();
  ::setenv("TMPDIR", directory.c_str(), 1);
  const std::string output = CapturedOutput([&] {
    auto writer = TensorStreamWriter::Create("-");
    ASSERT_TRUE(writer.ok()) << writer.status();
    AppendRows(&*writer, 100000);
    EXPECT_THAT(FilesIn(directory), IsEmpty());
    const absl::Status status = writer->Finish({{"kind", "test/1"}});
    EXPECT_TRUE(status.ok()) << status;
  });
  ::unsetenv("TMPDIR");
  const auto file = ParseTensorFile("output", output, nullptr);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata, (Metadata{{"kind", "test/1"}}));
  ExpectSame(file->tensors, SameRows(100000));
}

TEST(TensorStreamWriterTest, NothingIsLeftWithoutFinish) {
  const std::string directory = TestDirectory();
  const std::string path = directory + "/x.safetensors";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  {
    auto writer = TensorStreamWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    AppendRows(&*writer, 100000);
    TensorStreamWriter moved = *std::move(writer);
    EXPECT_EQ(moved.rows("flag"), 100000);
    EXPECT_EQ(Contents(path), "old");
  }
  EXPECT_EQ(Contents(path), "old");
  EXPECT_THAT(FilesIn(directory), ElementsAre("x.safetensors"));
}

TEST(TensorStreamWriterTest, AFullDevice) {
  const std::string directory = TestDirectory();
  // A limit on file size simulates a full device: the error is EFBIG instead of ENOSPC.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto run = [&](int64_t limit, int64_t elements) {
    rlimit new_limit = old_limit;
    new_limit.rlim_cur = limit;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &new_limit), 0);
    const absl::Status status = [&]() -> absl::Status {
      auto writer = TensorStreamWriter::Create(directory + "/x.safetensors");
      if (!writer.ok()) return writer.status();
      if (absl::Status s = writer->Declare("a", DType::kF64, {}); !s.ok()) return s;
      if (absl::Status s = writer->Declare("b", DType::kF64, {}); !s.ok()) return s;
      const std::vector<double> values(elements, 1.0);
      for (const char* const name : {"a", "b"}) {
        if (absl::Status s = writer->Append<double>(name, values); !s.ok()) {
          return absl::Status(s.code(), absl::StrCat("append: ", s.message()));
        }
      }
      return writer->Finish({});
    }();
    ::setrlimit(RLIMIT_FSIZE, &old_limit);
    EXPECT_THAT(FilesIn(directory), IsEmpty());
    return status;
  };
  const absl::Status in_append = run(1 << 20, 1 << 18);  // 2 MiB into one spool file
  EXPECT_THAT(in_append, ErrorNames(absl::StatusCode::kResourceExhausted,
                                    {"append:", absl::StrCat(directory, "/x.safetensors"), "spool"}));
  const absl::Status in_finish = run(3 << 20, 1 << 18);  // twice 2 MiB into the output
  EXPECT_THAT(in_finish, ErrorNames(absl::StatusCode::kResourceExhausted,
                                    {absl::StrCat(directory, "/x.safetensors"), "File too large"}));

  auto writer = TensorStreamWriter::Create("/dev/full");
  ASSERT_TRUE(writer.ok()) << writer.status();
  AppendRows(&*writer, 10);
  const absl::Status status = writer->Finish({});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "cannot write /dev/full: No space left on device");
}

TEST(TensorStreamWriterTest, ErrorsThatInputCanCause) {
  const std::string directory = TestDirectory();
  EXPECT_EQ(TensorStreamWriter::Create(directory + "/none/x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(TensorStreamWriter::Create(directory).status().code(), absl::StatusCode::kInvalidArgument);
  auto writer = TensorStreamWriter::Create(directory + "/x");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Declare("a", DType::kF32, {2}).ok());
  EXPECT_EQ(writer->Declare("a", DType::kF32, {2}).message(),
            absl::StrCat("cannot write ", directory, "/x: tensor \"a\": declared twice"));
  EXPECT_EQ(writer->Declare("b", DType::kF32, {-2}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Declare("b", DType::kF32, {INT64_MAX, 2}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Finish({{"k", "\xff"}}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorStreamWriterDeathTest, Misuse) {
  auto writer = TensorStreamWriter::Create(TestDirectory() + "/x");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Declare("a", DType::kF32, {2}).ok());
  EXPECT_DEATH(writer->Append<float>("b", {1, 2}).IgnoreError(), "no tensor \"b\" was declared");
  EXPECT_DEATH(writer->Append<double>("a", {1, 2}).IgnoreError(), "a: F64 appended to F32");
  EXPECT_DEATH(writer->Append<float>("a", {1, 2, 3}).IgnoreError(), "3 elements are not whole rows of 2");
  EXPECT_DEATH(writer->rows("b"), "no tensor \"b\" was declared");
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_DEATH(writer->Finish({}).IgnoreError(), "finished");
}

}  // namespace
}  // namespace rutile
