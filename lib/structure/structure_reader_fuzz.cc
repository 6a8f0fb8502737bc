// For any bytes, the readers return structures that keep their promises, or an error of one line.

#include <cmath>
#include <cstdint>
#include <string>

#include "lib/base/logging.h"
#include "lib/file/line_reader.h"
#include "lib/structure/extxyz/extxyz_writer.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using rutile::LineReader;
  rutile::StructureReaderOptions options;
  options.runner_units = rutile::RunnerUnits::kBohrHartree;
  const auto check = [](const absl::Status& status) {
    CHECK(status.message().find('\n') == absl::string_view::npos) << status;
    CHECK_EQ(status.message().find("fuzz"), 0) << status;
  };
  auto reader = rutile::OpenStructureReader(
      LineReader::FromBytes("fuzz", std::string(reinterpret_cast<const char*>(data), size)), options);
  if (!reader.ok()) {
    check(reader.status());
    return 0;
  }
  rutile::Structure structure;
  while (true) {
    const auto more = (*reader)->Next(&structure);
    if (!more.ok()) check(more.status());
    if (!more.ok() || !*more) return 0;
    CHECK_GT(structure.size(), 0);
    CHECK_EQ(structure.position.size(), 3 * structure.element.size());
    CHECK(structure.force.empty() || structure.force.size() == structure.position.size());
    for (uint8_t z : structure.element) CHECK(z >= 1 && z <= 118);
    for (double x : structure.position) CHECK(std::isfinite(x));
    for (double x : structure.force) CHECK(std::isfinite(x));
    for (double x : structure.cell) CHECK(std::isfinite(x));
    if (structure.energy.has_value()) CHECK(std::isfinite(*structure.energy));
    if (structure.stress.has_value()) {
      for (double x : *structure.stress) CHECK(std::isfinite(x));
    }
    // The structures can be written and read again.
    if (structure.info.empty()) {
      std::string text;
      AppendExtxyz(structure, &text);
      auto again = rutile::OpenStructureReader(LineReader::FromBytes("again", text));
      CHECK(again.ok()) << again.status();
      rutile::Structure copy;
      const auto read = (*again)->Next(&copy);
      CHECK(read.ok() && *read) << read.status() << "\n" << text;
      CHECK(copy.position == structure.position && copy.force == structure.force && copy.cell == structure.cell);
      CHECK(copy.energy == structure.energy && copy.stress == structure.stress && copy.pbc == structure.pbc);
    }
  }
}
