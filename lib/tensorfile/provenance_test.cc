#include "lib/tensorfile/provenance.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/base/version.h"
#include "lib/file/file.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

TEST(ShellCommandTest, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(ShellCommand({"featurize", "--species=Ti,O", "data/a-1.xsf"}), "featurize --species=Ti,O data/a-1.xsf");
  EXPECT_EQ(ShellCommand({"x", "", "two words", "*.xsf", "it's", "~a", "#b"}),
            R"(x '' 'two words' '*.xsf' 'it'\''s' '~a' '#b')");
  EXPECT_EQ(ShellCommand({"x", "Käfer"}), "x 'Käfer'");
  EXPECT_EQ(ShellCommand({"x", "a\n'\\b", "K\xe4"}), R"(x $'a\012\047\134b' $'K\344')");
}

// bash reads the same words back from the line, whatever they are.
TEST(ShellCommandTest, AShellReadsItBack) {
  std::string every_byte;
  for (int c = 1; c < 256; ++c) every_byte += static_cast<char>(c);
  const std::vector<std::string> words = {"a",        "",    " ",    "it's", "$HOME", "`id`",  "\"",
                                          "\\",       "\\n", "a\nb", "!x",   "K\xe4", "{a,b}", "Käfer",
                                          every_byte, "=x",  "-n",   "a;b",  "\x7f"};
  const std::string command = ShellCommand(words);
  EXPECT_TRUE(IsUtf8(command));
  const std::string script = ::testing::TempDir() + "/words.sh";
  ASSERT_TRUE(WriteFileAtomically(script, "printf '%s\\0' " + command + "\n").ok());
  std::FILE* const shell = ::popen(("bash " + script).c_str(), "r");
  ASSERT_NE(shell, nullptr);
  std::string output, expected;
  for (int c; (c = std::fgetc(shell)) != EOF;) output += static_cast<char>(c);
  ::pclose(shell);
  for (const std::string& word : words) expected += word + '\0';
  EXPECT_EQ(output, expected);
}

TEST(ProvenanceTest, MakesMetadata) {
  Provenance provenance;
  provenance.tool = "featurize";
  provenance.arguments = {"--output=f.safetensors", "my file"};
  provenance.inputs = {{"b\"c", "22"}, {"a", "11"}, {"K\xe4", "33"}};
  const Metadata metadata = MakeMetadata("atomistic.features/1", provenance, {{"unit", "eV"}});
  const Metadata expected = {{"kind", "atomistic.features/1"},
                             {"tool", "featurize"},
                             {"version", kVersion},
                             {"command", "featurize --output=f.safetensors 'my file'"},
                             {"inputs", R"({"$'K\\344'":"33","a":"11","b\"c":"22"})"},
                             {"unit", "eV"}};
  EXPECT_EQ(metadata, expected);
  EXPECT_EQ(MakeMetadata("potential/1", Provenance(), {}).at("inputs"), "{}");
}

TEST(ProvenanceTest, AddInputHashesFilesAndNamesStreams) {
  const std::string path = ::testing::TempDir() + "/input.txt";
  ASSERT_TRUE(WriteFileAtomically(path, "abc").ok());
  Provenance provenance;
  ASSERT_TRUE(provenance.AddInput(path).ok());
  ASSERT_TRUE(provenance.AddInput("-").ok());
  ASSERT_TRUE(provenance.AddInput("/dev/null").ok());
  EXPECT_EQ(provenance.inputs[path], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(provenance.inputs["-"], "");
  EXPECT_EQ(provenance.AddInput(path + ".none").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(provenance.AddInput(::testing::TempDir()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(provenance.inputs.size(), 3u);
}

TEST(ProvenanceDeathTest, Misuse) {
  EXPECT_DEATH(MakeMetadata("potential", Provenance(), {}), "potential");
  EXPECT_DEATH(MakeMetadata("potential/1", Provenance(), {{"tool", "x"}}), "metadata \"tool\"");
}

}  // namespace
}  // namespace rutile
