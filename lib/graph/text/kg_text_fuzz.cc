// Reads any bytes as each text format of a knowledge graph: the result is an error or valid, never a crash. Runs in
// libFuzzer, and on testdata as a test.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/graph/text/edge_map.h"
#include "lib/graph/text/formats/id_file.h"
#include "lib/graph/text/formats/triple_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  // The first byte also chooses what a user may say of tables.
  for (const bool is_default : {true, false}) {
    rutile::EdgeMap grown;
    rutile::TripleReaderOptions options;
    if (!is_default && size > 0) {
      options.table.separator = std::vector<std::string>{"", ",", " ", "::"}[data[0] % 4];
      if (data[0] % 3 > 0) options.table.columns = {"2", "1", "3"};
      options.table.header = data[0] % 5 > 2 ? rutile::TableOptions::Header::kYes : rutile::TableOptions::Header::kNo;
      options.edges.negated_relations = data[0] % 2 > 0;
    }
    auto reader = rutile::TripleReader::FromBytes("fuzz", bytes, &grown, options);
    if (!reader.ok()) continue;
    reader->Peek();
    rutile::TextTriple triple;
    for (rutile::TripleReader::Item item; (item = reader->Next(&triple)) != rutile::TripleReader::kEnd;) {
      if (item == rutile::TripleReader::kNegated) continue;
      if (item == rutile::TripleReader::kMalformed) {
        CHECK(!reader->problem().empty());
        continue;
      }
      for (const absl::string_view name : {triple.head, triple.relation, triple.tail}) {
        CHECK(!name.empty() && name.find_first_of("\t\n") == absl::string_view::npos);
      }
    }
  }
  if (const auto ids = rutile::ParseIdFile("fuzz", bytes); ids.ok()) {
    for (const std::string& name : ids->names) CHECK(!name.empty());
  }
  if (const auto map = rutile::EdgeMap::Parse(bytes, "fuzz"); map.ok()) {
    const auto again = rutile::EdgeMap::Parse(map->ToJson(), "again");
    CHECK(again.ok()) << again.status();
    CHECK(again->ToJson() == map->ToJson());
  }
  return 0;
}
