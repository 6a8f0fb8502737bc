#include "lib/graph/text/new_triples.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

KnowledgeGraph Known() {
  KnowledgeGraph names;
  names.entities = {"Q1", "Q2", "Q3"};
  names.entity_labels = {"iron", "zinc", "zinc"};
  names.relations = {"P1", "P2"};
  return names;
}

absl::StatusOr<NewTriples> Read(const std::string& text, const KnowledgeGraph& known = Known()) {
  const std::string path = ::testing::TempDir() + "/new.txt";
  std::ofstream(path) << text;
  return ReadNewTriples(path, known);
}

TEST(NewTriplesTest, NewEntitiesFollowTheKnownOnes) {
  const auto read = Read("my drug\tP2\tQ3\nQ1\tP1\t7\n\nmy drug\tP1\tiron\nmy drug\tP2\tQ3\n");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->names, ElementsAre("my drug", "7"));
  EXPECT_THAT(read->triples, ElementsAre(Triple{3, 1, 2}, Triple{0, 0, 4}, Triple{3, 0, 0}));
  EXPECT_EQ(read->num_repeated, 1);
}

TEST(NewTriplesTest, EdgesGoByWhatTheySay) {
  KnowledgeGraph known = Known();
  const std::string edge = R"({"subject":"drug","predicate":"inhibits","object":"Q2"})";
  EXPECT_THAT(Read(edge, known).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"new.txt", "labels"}));
  known.relation_labels = {"activates", "inhibits"};
  const auto read = Read(edge, known);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->triples, ElementsAre(Triple{3, 1, 1}));
}

TEST(NewTriplesTest, ErrorsNameTheLine) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"x\tP1\tQ1\nQ1\tP1\tQ2\n", {"new.txt:2", "knows both \"Q1\" and \"Q2\""}},
      {"x\tP1\tQ1\nx\tP1\ty\n", {"new.txt:2", "knows neither \"x\" nor \"y\"", "--output_model"}},
      {"x\tP1\tx\n", {"new.txt:1", "neither"}},
      {"x\tP9\tQ1\n", {"new.txt:1", "\"P9\""}},
      {"x\tP1\tzinc\n", {"new.txt:1", "several", "zinc"}},
      {"x\tP1\tQ1\nx\tP1\n", {"new.txt:2"}},
      {"1\n0 1 0\n", {"new.txt", "ids"}},
      {"", {"new.txt", "no triples"}},
  };
  for (const auto& [text, facts] : cases) {
    EXPECT_THAT(Read(text).status(), ErrorNames(absl::StatusCode::kInvalidArgument, facts)) << text;
  }
}

}  // namespace
}  // namespace rutile
