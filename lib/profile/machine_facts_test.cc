#include "lib/profile/machine_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLine[] = "7f0000000000-7f0000001000 r-xp 00000000 08:01 42    ";

MachineFacts Loaded(const std::string& maps) {
  MachineFacts facts;
  FindLoadedLibraries(maps, &facts);
  return facts;
}

std::string Line(const std::string& path) { return kLine + path + "\n"; }

TEST(MachineFactsTest, DescribesThisMachine) {
  const MachineFacts facts = FindMachineFacts();
  EXPECT_FALSE(facts.machine.cpu.empty());
  EXPECT_GE(facts.allowed_by_affinity, 1);
  EXPECT_GE(facts.allowed_by_affinity, facts.machine.usable_processors);
  EXPECT_FALSE(facts.compiler.empty());
  EXPECT_GE(facts.l2_bytes, facts.l1_bytes);
}

TEST(MachineFactsTest, TellsBlasLibrariesApart) {
  const std::string lib = "/usr/lib/x86_64-linux-gnu/";
  EXPECT_EQ(Loaded(Line(lib + "openblas-openmp/libblas.so.3")).blas, "OpenBLAS");
  EXPECT_EQ(Loaded(Line(lib + "blis-pthread/libblas.so.3")).blas, "BLIS");
  EXPECT_EQ(Loaded(Line(lib + "atlas/libblas.so.3")).blas, "ATLAS");
  EXPECT_EQ(Loaded(Line("/opt/intel/mkl/lib/libmkl_core.so.2")).blas, "MKL");
  EXPECT_EQ(Loaded(Line("/venv/torch/lib/libopenblas-r0.3.so")).blas, "OpenBLAS");
  EXPECT_EQ(Loaded(Line(lib + "libc.so.6") + Line("/opt/libblas/libfoo.so")).blas, "");
  EXPECT_THAT(Loaded(Line(lib + "openblas-openmp/libblas.so.3")).warnings, IsEmpty());
}

TEST(MachineFactsTest, WarnsOfReferenceBlas) {
  const MachineFacts facts = Loaded(Line("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"));
  EXPECT_EQ(facts.blas, "reference BLAS");
  EXPECT_EQ(facts.blas_library, "libblas.so.3.11.0");
  EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("libopenblas0")));
  // Here the reference BLAS only forwards calls to a fast one.
  EXPECT_THAT(Loaded(Line("/usr/lib/libopenblas.so.0") + Line("/usr/lib/blas/libblas.so.3")).warnings, IsEmpty());
  EXPECT_THAT(Loaded(Line("/usr/lib/blas/libblas.so.3") + Line("/usr/lib/libopenblas.so.0")).warnings, IsEmpty());
}

TEST(MachineFactsTest, KnowsLibTorchByItsFile) {
  EXPECT_EQ(Loaded(Line("/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.0")).libtorch, "1.13.0");
  EXPECT_EQ(Loaded(Line("/venv/torch/lib/libtorch_cpu.so")).libtorch, "unknown version");
  EXPECT_EQ(Loaded("").libtorch, "");
}

TEST(MachineFactsTest, JsonRoundTrip) {
  MachineFacts facts;
  facts.machine = {"A \"fast\" one", "AVX3", 8, 4, int64_t{1} << 40, "Linux 6.1"};
  facts.allowed_by_affinity = 6;
  facts.allowed_by_cgroup = 3.5;
  facts.bf16 = "AMX-BF16";
  facts.l1_bytes = 1, facts.l2_bytes = 2, facts.l3_bytes = 3;
  facts.compiler = "gcc 12.2.0";
  facts.blas = "MKL", facts.blas_library = "libmkl_rt.so.2", facts.libtorch = "1.13.0";
  facts.warnings = {"one", "two"};
  MachineFacts read;
  ASSERT_TRUE(ParseMachineFacts(MachineFactsJson(facts), &read));
  EXPECT_EQ(MachineFactsJson(read), MachineFactsJson(facts));
  EXPECT_EQ(read.machine.memory_bytes, int64_t{1} << 40);
  EXPECT_EQ(read.allowed_by_cgroup, 3.5);
  EXPECT_THAT(read.warnings, ElementsAre("one", "two"));
}

TEST(MachineFactsTest, RefusesWhatItDidNotWrite) {
  MachineFacts facts;
  EXPECT_TRUE(ParseMachineFacts("{}", &facts));
  for (const char* bad :
       {"", "[]", "{\"cpu\": 1}", "{\"l1_bytes\": \"x\"}", "{\"warnings\": [1]}", "{\"warnings\": 1}"}) {
    EXPECT_FALSE(ParseMachineFacts(bad, &facts)) << bad;
  }
}

}  // namespace
}  // namespace rutile
