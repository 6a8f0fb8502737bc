#include "lib/file/mapped_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

constexpr size_t kSize = 1 << 16;

std::string MakeFile(const std::string& name) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  EXPECT_TRUE(WriteFileAtomically(path, std::string(kSize, 'x')).ok());
  return path;
}

// Opens a file, cuts it, and reads its last byte.
void ReadBehindTheEnd(const std::string& path) {
  InstallMappedFileHandler("mytool");
  const absl::StatusOr<FileContents> file = FileContents::Open(path);
  if (!file.ok() || ::truncate(path.c_str(), 10) != 0) return;
  volatile char last = file->data().back();
  (void)last;
}

TEST(MappedFilesDeathTest, AFileThatIsCutIsNamed) {
  const std::string path = MakeFile("cut.bin");
  EXPECT_EXIT(ReadBehindTheEnd(path), ::testing::ExitedWithCode(1), "^mytool: .*/cut.bin: became shorter[^\n]*\n$");
}

TEST(MappedFilesDeathTest, InAnyThreadAndAmongOthers) {
  const std::string path = MakeFile("cut2.bin"), whole = MakeFile("whole.bin");
  EXPECT_EXIT(
      {
        std::vector<FileContents> others;
        for (int i = 0; i < 20; ++i) others.push_back(FileContents::Open(whole).value());
        others.erase(others.begin() + 3, others.begin() + 9);
        std::thread(ReadBehindTheEnd, path).join();
      },
      ::testing::ExitedWithCode(1), "mytool: .*/cut2.bin: became shorter");
}

TEST(MappedFilesDeathTest, ControlCharactersOfTheNameAreEscaped) {
  const std::string path = MakeFile("cut\x1b[31m.bin");
  EXPECT_EXIT(ReadBehindTheEnd(path), ::testing::ExitedWithCode(1), "cut..1b.31m.bin: became shorter");
}

TEST(MappedFilesDeathTest, OtherCausesEndTheProcessByTheSignal) {
  const std::string path = MakeFile("forgotten.bin");
  EXPECT_EXIT(
      {
        InstallMappedFileHandler("mytool");
        ForgetMapping(FileContents::Open(path).value().data().data());  // closed: nothing happens
        const FileContents file = FileContents::Open(path).value();
        ForgetMapping(file.data().data());
        if (::truncate(path.c_str(), 10) == 0) {
          volatile char last = file.data().back();
          (void)last;
        }
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace rutile
