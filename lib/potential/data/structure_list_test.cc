#include "lib/potential/data/structure_list.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Write(const std::string& name, const std::string& text) {
  std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

// Dimers of growing length; the largest force component is the number in the name.
std::string Frames(const std::vector<int>& lengths) {
  std::string text;
  for (const int length : lengths) {
    absl::StrAppend(&text, "2\nProperties=species:S:1:pos:R:3:forces:R:3 energy=-", length, "\nTi 0 0 0 0 0 ", length,
                    "\nO 0 0 ", length, " 0 0 -", length, "\n");
  }
  return text;
}

AtomicData Read(const std::vector<std::string>& inputs, double max_forces) {
  AtomicDataOptions options;
  ChebyshevOptions descriptor;
  descriptor.species = {22, 8};
  options.default_descriptor = descriptor;
  options.max_forces = max_forces;
  return AtomicData::Read(inputs, options).value();
}

StructureList List(const std::string& text) { return ReadStructureList(Write("list.txt", text)).value(); }

TEST(StructureListTest, ReadsNumbersAndHashes) {
  const StructureList list = List("# frames\r\n3 1\t 4\r\n\n15  # a b.extxyz#3 4f2a91c07be1\n16 # the last\n");
  EXPECT_THAT(list.numbers, ElementsAre(3, 1, 4, 15, 16));
  EXPECT_THAT(list.hashes, ElementsAre("", "", "", "4f2a91c07be1", ""));
  EXPECT_EQ(list.names[3], "a b.extxyz#3");
  EXPECT_FALSE(list.has_hashes());
  EXPECT_FALSE(List("").has_hashes());
}

TEST(StructureListTest, SaysWhereItIsWrong) {
  for (const std::string word : {"x", "1.5", "-2", "99999999999999999999"}) {
    const std::string path = Write("wrong.txt", "1\n2 " + word + "\n");
    EXPECT_THAT(std::string(ReadStructureList(path).status().message()), HasSubstr(":2: found \"" + word + "\""));
  }
  EXPECT_THAT(std::string(ReadStructureList(Write("twice.txt", "7\n7\n")).status().message()),
              AllOf(HasSubstr("twice.txt:2"), HasSubstr("twice: 7")));
}

TEST(StructureListTest, NumbersCountWhatFiltersLeaveOut) {
  const std::string a = Write("a.xyz", Frames({2, 9, 3})), b = Write("b.xyz", Frames({8, 4}));
  const AtomicData data = Read({a, b}, 5);
  ASSERT_EQ(data.num_structures(), 3);
  EXPECT_EQ(data.num_read(), 5);
  EXPECT_EQ(data.number(1), 2);
  EXPECT_EQ(data.number(2), 4);
  EXPECT_EQ(data.Find(2), 1);
  EXPECT_FALSE(data.Find(3).has_value());
  EXPECT_FALSE(data.Find(5).has_value());
  EXPECT_EQ(data.NameOfNumber(3), b + "#0");
  EXPECT_THAT(data.filters(), HasSubstr("--max_forces=5"));
  const ListedPlaces found = PlacesOfListed(List("4 1 0 3"), data).value();
  EXPECT_THAT(found.places, ElementsAre(2, 0));
  EXPECT_THAT(found.left_out, ElementsAre("1 (" + a + "#1)", "3 (" + b + "#0)"));
  EXPECT_THAT(std::string(PlacesOfListed(List("0 5"), data).status().message()),
              AllOf(HasSubstr("structure 5 of 5"), HasSubstr("list.txt")));
}

TEST(StructureListTest, ContentFindsStructuresInAnotherOrder) {
  const std::string a = Write("a.xyz", Frames({2, 3, 4, 5})), b = Write("b.xyz", Frames({7, 5, 2, 3}));
  const AtomicData first = Read({a}, 100), second = Read({b}, 100);
  const StructureList list = List(StructureListOf(first, {0, 3}));
  EXPECT_TRUE(list.has_hashes());
  EXPECT_EQ(list.names[1], a + "#3");
  EXPECT_THAT(PlacesOfListed(list, first).value().places, ElementsAre(0, 3));
  EXPECT_EQ(DescribeMoved(list, PlacesOfListed(list, first).value().moved), "");
  const ListedPlaces found = PlacesOfListed(list, second).value();
  EXPECT_THAT(found.places, ElementsAre(2, 1));
  EXPECT_THAT(DescribeMoved(list, found.moved), HasSubstr("2 of 2"));
  EXPECT_THAT(FindListedInInputs(list, {b}, second.descriptor(), {}, /*forces=*/true)->numbers, ElementsAre(2, 1));
  const StructureList absent = List(StructureListOf(first, {0, 2}));
  EXPECT_THAT(std::string(PlacesOfListed(absent, second).status().message()),
              AllOf(HasSubstr("1 of 2"), HasSubstr("2 (" + a + "#2)"), Not(HasSubstr("#0"))));
}

TEST(StructureListTest, EqualStructuresAreTakenOnceEach) {
  const AtomicData two = Read({Write("two.xyz", Frames({2, 2, 3}))}, 100);
  const AtomicData more = Read({Write("more.xyz", Frames({3, 2, 2}))}, 100);
  EXPECT_THAT(PlacesOfListed(List(StructureListOf(two, {0, 1})), more).value().places, ElementsAre(2, 1));
  const AtomicData one = Read({Write("one.xyz", Frames({3, 2}))}, 100);
  EXPECT_FALSE(PlacesOfListed(List(StructureListOf(two, {0, 1})), one).ok());
  EXPECT_THAT(PlacesOfListed(List(""), one).value().places, IsEmpty());
}

}  // namespace
}  // namespace rutile
