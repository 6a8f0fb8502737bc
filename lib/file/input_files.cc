#include "lib/file/input_files.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/line_reader.h"
#include "lib/file/shards.h"

namespace rutile {
namespace {

constexpr absl::string_view kList = "list:";

class Expander {
 public:
  absl::Status Add(const std::string& argument) {
    if (argument.empty()) return absl::InvalidArgumentError("an input has an empty name, expected a file");
    if (argument == "-") return UseStdin(argument);
    struct stat info;
    if (::stat(argument.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) return AddDirectory(argument);
      files_.push_back({argument, in_list_ ? InputOrigin::kListed : InputOrigin::kNamed});
      return absl::OkStatus();
    }
    const int error = errno;
    if (absl::StartsWith(argument, kList)) return AddList(argument.substr(kList.size()));
    if (argument.find_first_of("*?[") != std::string::npos) return AddGlob(argument);
    return ErrnoStatus(error, argument);
  }

  const std::vector<InputFile>& files() const { return files_; }

 private:
  absl::Status UseStdin(absl::string_view argument) {
    if (stdin_used_) return absl::InvalidArgumentError("standard input (-) is given twice, expected at most once");
    stdin_used_ = true;
    if (argument == "-") files_.push_back({"-", InputOrigin::kNamed});
    return absl::OkStatus();
  }

  absl::Status AddDirectory(const std::string& path) {
    DIR* const directory = ::opendir(path.c_str());
    if (directory == nullptr) return ErrnoStatus(errno, path);
    const absl::Cleanup close = [directory] { ::closedir(directory); };
    std::vector<std::string> found;
    errno = 0;
    for (const dirent* entry; (entry = ::readdir(directory)) != nullptr; errno = 0) {
      if (entry->d_name[0] == '.') continue;
      const std::string name = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", entry->d_name);
      struct stat info;
      if (::stat(name.c_str(), &info) == 0 && S_ISREG(info.st_mode)) found.push_back(name);
    }
    if (errno != 0) return ErrnoStatus(errno, path);
    if (found.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": a directory without files, expected some directly in it"));
    }
    std::sort(found.begin(), found.end());
    for (std::string& path : found) files_.push_back({std::move(path), InputOrigin::kFound});
    return absl::OkStatus();
  }

  absl::Status AddGlob(const std::string& pattern) {
    glob_t matches;
    const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &matches);
    const absl::Cleanup free_matches = [&matches] { ::globfree(&matches); };
    if (result == GLOB_NOMATCH) {
      return absl::NotFoundError(absl::StrCat(pattern, ": no file matches, expected one or more"));
    }
    if (result != 0) return ErrnoStatus(errno, pattern);
    // Names are sorted by bytes, so that the order does not depend on the locale.
    std::vector<std::string> found(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    std::sort(found.begin(), found.end());
    for (const std::string& path : found) {
      struct stat info;
      if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
      if (S_ISDIR(info.st_mode)) {
        RETURN_IF_ERROR(AddDirectory(path));
      } else {
        files_.push_back({path, InputOrigin::kFound});
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddList(const std::string& path) {
    if (path != "-") {
      ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
      return AddLines(std::move(lines));
    }
    RETURN_IF_ERROR(UseStdin(kList));
    ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open("-"));
    UnreadStandardInput(contents);  // the next expansion of the same arguments reads the same list
    return AddLines(LineReader::FromBytes(contents.path(), std::string(contents.data())));
  }

  absl::Status AddLines(LineReader lines) {
    in_list_ = true;
    const absl::Cleanup after = [this] { in_list_ = false; };
    absl::string_view line;
    bool any = false;
    while (lines.Next(&line)) {
      const absl::string_view name = absl::StripAsciiWhitespace(line);
      if (name.empty() || name[0] == '#') continue;
      any = true;
      absl::Status status = absl::StartsWith(name, kList)
                                ? absl::InvalidArgumentError(absl::StrCat(name, ": a list within a list"))
                                : Add(std::string(name));
      if (!status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat(lines.path(), ":", lines.line_number(), ": ", status.message()));
      }
    }
    RETURN_IF_ERROR(lines.status());
    if (any) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(lines.path(), ": an empty list, expected the name of a file in a line"));
  }

  std::vector<InputFile> files_;
  bool in_list_ = false;
  bool stdin_used_ = false;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandInputs(absl::Span<const std::string> arguments) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("no input, expected files, directories, globs, list:FILE or -");
  }
  Expander expander;
  for (const std::string& argument : arguments) RETURN_IF_ERROR(expander.Add(argument));
  RETURN_IF_ERROR(CheckShards(expander.files()));
  std::vector<std::string> files;
  for (const InputFile& file : expander.files()) files.push_back(file.path);
  return files;
}

std::vector<std::string> SplitInputs(absl::string_view value) {
  if (FileExists(value)) return {std::string(value)};
  return absl::StrSplit(value, ',', absl::SkipEmpty());
}

}  // namespace rutile
