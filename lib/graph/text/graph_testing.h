// Helpers of tests that build graphs from files of text.

#ifndef RUTILE_LIB_GRAPH_TEXT_GRAPH_TESTING_H_
#define RUTILE_LIB_GRAPH_TEXT_GRAPH_TESTING_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/graph/text/build_graph.h"

namespace rutile {

// Writes a file of this name in the test's directory and returns its path.
inline std::string WriteText(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

// Writes the texts of splits, "" for a split without a file, and returns options that name the files.
inline BuildGraphOptions OptionsOf(const std::string& train, const std::string& valid = "",
                                   const std::string& test = "") {
  BuildGraphOptions options;
  options.train = {WriteText("train.txt", train)};
  if (!valid.empty()) options.valid = {WriteText("valid.txt", valid)};
  if (!test.empty()) options.test = {WriteText("test.txt", test)};
  return options;
}

// Expects BuildGraph to refuse its input, and returns the message.
inline std::string BuildError(const BuildGraphOptions& options) {
  const auto built = BuildGraph(options);
  EXPECT_EQ(built.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(built.status().message());
}

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_GRAPH_TESTING_H_
