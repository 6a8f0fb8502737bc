#include "tools/tracin/outputs/leave_one_out_table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// An error in the table: those of the models that hold the structure and do not.
struct Column {
  const char* name;
  const char* unit;
  double LeftOutErrors::*error;
  bool by_components;  // a root mean square over the components of a structure
};

constexpr Column kColumns[] = {{"energy", "eV/atom", &LeftOutErrors::energy, false},
                               {"force_rmse", "eV/Å", &LeftOutErrors::force, true},
                               {"stress_rmse", "eV/Å^3", &LeftOutErrors::stress, true}};

std::string Number(double value) { return std::isnan(value) ? "" : absl::StrFormat("%.9g", value); }

}  // namespace

std::vector<ColumnRange> ColumnsOf(absl::Span<const ParameterSlice> slices, absl::Span<const ProductPart> parts) {
  std::vector<ColumnRange> columns;
  for (const ProductPart& part : parts) {
    for (const int slice : part.slices) {
      columns.push_back({slices[slice].offset, slices[slice].offset + slices[slice].num_elements()});
    }
  }
  std::sort(columns.begin(), columns.end(),
            [](const ColumnRange& a, const ColumnRange& b) { return a.begin < b.begin; });
  return columns;
}

std::string LeaveOneOutToTsv(const LeaveOneOut& found, const AtomicData& train) {
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    double with = 0, without = 0, count = 0;
    size_t structures = 0;
    for (const LeftOut& each : found.structures) {
      const double error = each.with.*column.error, left_out = each.without.*column.error;
      if (std::isnan(error)) continue;
      const auto weight = column.by_components && column.error == &LeftOutErrors::force
                              ? static_cast<double>(train.num_atoms(each.structure))
                              : 1.0;
      with += weight * error * error;
      without += weight * left_out * left_out;
      count += weight;
      ++structures;
    }
    if (count == 0) continue;
    columns.push_back(column);
    PrintMessage(
        absl::StrFormat("leave-one-out: %s %s: %.6g %s; of the training set: %.6g (%d of %d structures have it)",
                        column.name, column.by_components ? "over all components" : "rmse", std::sqrt(without / count),
                        column.unit, std::sqrt(with / count), structures, found.structures.size()));
  }
  std::string table = "train\tstructure\tconfig_type\tatoms";
  for (const Column& column : columns) {
    const char* const what = column.by_components ? "" : "_error";
    absl::StrAppend(&table, "\t", column.name, what, "[", column.unit, "]\t", column.name, what, "_left_out[",
                    column.unit, "]");
  }
  absl::StrAppend(&table, "\tloss\tleverage\tcooks_distance\tself_influence\n");
  for (const LeftOut& each : found.structures) {
    absl::StrAppend(&table, each.structure, "\t", train.name(each.structure), "\t", train.config_type(each.structure),
                    "\t", train.num_atoms(each.structure));
    for (const Column& column : columns) {
      absl::StrAppend(&table, "\t", Number(each.with.*column.error), "\t", Number(each.without.*column.error));
    }
    absl::StrAppend(&table, "\t", Number(each.loss), "\t", Number(each.leverage), "\t", Number(each.cook), "\t",
                    Number(each.self_influence), "\n");
  }
  return table;
}

}  // namespace rutile
