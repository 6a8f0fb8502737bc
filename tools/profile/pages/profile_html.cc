#include "tools/profile/pages/profile_html.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/plot/html_report.h"
#include "tools/profile/pages/advice.h"
#include "tools/profile/pages/profile_svg.h"
#include "tools/profile/pages/stage_table.h"

namespace rutile {
namespace {

constexpr size_t kMaxRows = 60;  // of a process
constexpr int kMaxBars = 14;

HtmlTable StagesTable(const StageTable& stages) {
  HtmlTable table;
  table.caption = absl::StrCat("Times are self times. Limit: the roofline of ", stages.roof.what, ".");
  table.columns = {{"stage", "", true}, {"thread", "", true},  {"share", "%"}, {"time", "s"},      {"calls", ""},
                   {"flop/B", ""},      {"of the limit", "%"}, {"memory", ""}, {"rates", "", true}};
  for (const StageRow& row : stages.rows) {
    if (table.rows.size() == kMaxRows) break;
    const RooflinePoint& point = row.roofline;
    table.rows.push_back({row.path, row.thread, absl::StrFormat("%.1f", 100 * row.share),
                          absl::StrFormat("%.4g", row.self_s), absl::StrCat(row.calls),
                          point.intensity > 0 ? absl::StrFormat("%.3g", point.intensity) : "",
                          point.share > 0 ? absl::StrFormat("%.0f", 100 * point.share) : "",
                          BytesText(row.peak_rss_bytes), RatesText(row)});
  }
  return table;
}

}  // namespace

absl::StatusOr<std::string> ProfileHtml(const CommandProfile& run, const MachinePeaks& peaks) {
  HtmlReport report(absl::StrCat("Profile of ", run.command.empty() ? "nothing" : CommandText(run.command, 60)));
  report.AddParagraph(absl::StrCat(SecondsText(run.wall_s), " wall, ", SecondsText(run.cpu_s),
                                   " processor, exit status ", run.exit_status,
                                   run.cut ? ", cut short by --max_time" : ""));
  for (const std::string& note : run.notes) report.AddParagraph(note);
  const std::string timeline = TimelineSvg(run.records);
  if (!timeline.empty()) {
    report.AddSection("Timeline");
    RETURN_IF_ERROR(report.AddFigure(timeline, "Stages over time; stages inside others stand below them."));
  }
  for (const ProfileRecord& record : run.records) {
    const StageTable stages = MakeStageTable(record, peaks);
    report.AddSection(absl::StrCat(record.tool, " (", record.pid, ")"));
    report.AddCode(CommandText(record.command, 2000));
    report.AddParagraph(absl::StrCat("Bottleneck: ", BottleneckText(record, stages), "."));
    RETURN_IF_ERROR(report.AddFigure(
        StageBarsSvg(absl::StrCat(record.tool, ": ", SecondsText(stages.wall_s)), stages, kMaxBars), ""));
    const std::vector<Advice> advice = Advise(record, stages);
    if (!advice.empty()) {
      HtmlTable table;
      const std::string basis = AdviceBasis(stages);
      table.columns = {{"what to change", "", true},
                       {basis.empty() ? "because" : absl::StrCat("because (shares ", basis, ")"), "", true}};
      for (const Advice& a : advice) table.rows.push_back({a.what, a.why});
      report.AddTable(table);
    }
    report.AddTable(StagesTable(stages));
  }
  report.AddSection("Machine and command");
  if (!run.records.empty()) {
    const Machine& machine = run.records.front().machine.machine;
    report.AddParagraph(absl::StrCat(machine.cpu, ", ", machine.usable_processors, " of ", machine.processors,
                                     " processors, ", machine.instruction_set, ", ", BytesText(machine.memory_bytes)));
  }
  report.AddCode(CommandText(run.command, 2000));
  return report.ToString();
}

}  // namespace rutile
