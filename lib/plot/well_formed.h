// Checks in tests that a text is XML, and stores it for inspection.

#ifndef RUTILE_LIB_PLOT_WELL_FORMED_H_
#define RUTILE_LIB_PLOT_WELL_FORMED_H_

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace rutile {

// Writes `text` to `name` in the test's outputs (bazel-testlogs/.../test.outputs/outputs.zip) and lets Python's XML
// parser read it.
inline ::testing::AssertionResult IsWellFormedXml(const std::string& name, const std::string& text) {
  const char* const outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path = absl::StrCat(outputs != nullptr ? outputs : ::testing::TempDir().c_str(), "/", name);
  std::ofstream(path, std::ios::binary) << text;
  const std::string command =
      absl::StrCat("python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' '", path, "'");
  if (std::system(command.c_str()) == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << path << " is not well-formed XML";
}

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_WELL_FORMED_H_
