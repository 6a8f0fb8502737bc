#include "tools/profile/profile_command.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/profile/machine_facts.h"
#include "lib/profile/machine_peaks.h"
#include "lib/profile/record.h"
#include "tools/common/run/run_tool.h"
#include "tools/profile/child_process.h"
#include "tools/profile/pages/chrome_trace.h"
#include "tools/profile/pages/profile_html.h"
#include "tools/profile/pages/stage_table.h"
#include "tools/profile/product_on_all_processors.h"
#include "tools/profile/scratch_directory.h"
#include "tools/profile/search/process_ends.h"

namespace rutile {
namespace {

std::string CacheDirectory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return absl::StrCat(cache, "/rutile");
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? absl::StrCat(home, "/.cache/rutile") : "";
}

std::string TemporaryDirectory() {
  const char* const directory = std::getenv("TMPDIR");
  return directory != nullptr && *directory != '\0' ? directory : "/tmp";
}

// Returns the files of `directory` that end in .json, sorted.
std::vector<std::string> JsonFiles(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
    if (absl::EndsWith(i->path().string(), ".json")) paths.push_back(i->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Extends the record of the command's own process, if it wrote one, to its whole life, and returns it.
const ProfileRecord* AddEnds(const ChildResult& child, CommandProfile* run) {
  for (ProfileRecord& record : run->records) {
    if (record.pid == child.pid && AddProcessEnds(child.start_unix_ns, child.end_unix_ns, &record)) return &record;
  }
  return nullptr;
}

absl::Status WriteFiles(const CommandProfile& run, const MachinePeaks& peaks, const std::string& records,
                        const ProfileRecord* lengthened, const std::string& output_dir) {
  RETURN_IF_ERROR(MakeDirectories(output_dir + "/records"));
  ASSIGN_OR_RETURN(const std::string html, ProfileHtml(run, peaks));
  RETURN_IF_ERROR(WriteFileAtomically(output_dir + "/report.html", html));
  RETURN_IF_ERROR(WriteFileAtomically(output_dir + "/trace.json", ChromeTrace(run.records)));
  RETURN_IF_ERROR(WriteFileAtomically(output_dir + "/stages.tsv", StagesTsv(run, peaks)));
  for (const std::string& path : JsonFiles(records)) {
    const std::string copy = absl::StrCat(output_dir, "/records/", path.substr(path.rfind('/') + 1));
    std::error_code error;
    if (std::filesystem::equivalent(path, copy, error)) continue;
    ASSIGN_OR_RETURN(const FileContents record, FileContents::Open(path));
    RETURN_IF_ERROR(WriteFileAtomically(copy, record.data()));
  }
  if (lengthened != nullptr) RETURN_IF_ERROR(WriteProfileRecord(output_dir + "/records", *lengthened));
  PrintMessage(absl::StrCat(output_dir, "/report.html, trace.json (ui.perfetto.dev opens it), stages.tsv, records/"));
  return absl::OkStatus();
}

// Returns the peaks of this machine, and warns if they may be too low. load: of the machine before the command.
absl::StatusOr<MachinePeaks> PeaksOfMachine(const MachineFacts& facts, double load, bool again, bool exceeded) {
  PeakOptions options;
  options.matmul = ProductOnAllProcessors(std::max(1, facts.machine.usable_processors));
  options.cache_directory = CacheDirectory();
  options.temporary_directory = TemporaryDirectory();
  options.load = load;
  options.again = again;
  options.exceeded = exceeded;
  ASSIGN_OR_RETURN(const MachinePeaks peaks, FindMachinePeaks(facts, options));
  if (IsBusy(peaks.load, facts.machine.processors)) {
    PrintWarning(absl::StrFormat(
        "the machine's peaks were measured at a load of %.1f on %d processors and may be too low; profile --machine "
        "--measure_peaks measures them again",
        peaks.load, facts.machine.processors));
  }
  return peaks;
}

// True if a stage computes faster than the machine is said to. (Memory is another matter: data may stay in caches.)
bool ExceedsPeaks(const CommandProfile& run, const MachinePeaks& peaks) {
  for (const ProfileRecord& record : run.records) {
    for (const StageRow& row : MakeStageTable(record, peaks).rows) {
      if (!row.roofline.memory_is_limit && row.roofline.share > 1.02 && row.self_s > 0.05) return true;
    }
  }
  return false;
}

absl::Status Show(const CommandProfile& run, double load, const std::string& records, const ProfileRecord* lengthened,
                  const CommandOptions& options) {
  MachinePeaks peaks;
  if (options.peaks && !run.records.empty()) {
    const MachineFacts facts = FindMachineFacts();
    absl::StatusOr<MachinePeaks> found = PeaksOfMachine(facts, load, options.measure_peaks, /*exceeded=*/false);
    if (found.ok() && found->cached && !found->exceeded && ExceedsPeaks(run, *found)) {
      PrintMessage("a stage computes faster than this machine was measured to: its peaks are measured again");
      found = PeaksOfMachine(facts, load, /*again=*/false, /*exceeded=*/true);
    }
    if (found.ok()) {
      peaks = *found;
    } else {
      PrintWarning(found.status().message());  // a page without limits is better than none
    }
  }
  // The command's results own standard output, as with time and perf stat.
  std::cout << std::flush;
  if (options.tsv) {
    std::cout << StagesTsv(run, peaks) << std::flush;
  } else {
    std::cerr << ProfilePage(run, peaks, options.max_stages);
  }
  return options.output_dir.empty() ? absl::OkStatus()
                                    : WriteFiles(run, peaks, records, lengthened, options.output_dir);
}

// Says why there is no record.
std::string WithoutRecord(const ChildResult& child, const std::string& command) {
  if (child.exit_status > 128) {
    const int signal_number = child.exit_status - 128;
    return absl::StrCat("no record: ", command, " was ended by signal ", signal_number, " (", strsignal(signal_number),
                        ") before a tool of rutile could write one");
  }
  if (child.exit_status != 0) {
    return absl::StrCat("no record: ", command, " failed with status ", child.exit_status,
                        " before a tool of rutile could write one, or is none");
  }
  return absl::StrCat("no record: ", command,
                      " is no tool of rutile and runs none (or one from before profile), so that"
                      " only its time and memory are known");
}

}  // namespace

void ReadRecords(const std::string& directory, CommandProfile* run) {
  for (const std::string& path : JsonFiles(directory)) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const absl::StatusOr<FileContents> file = FileContents::Open(path);
    absl::StatusOr<ProfileRecord> record = file.ok() ? ParseProfileRecord(file->data()) : file.status();
    if (record.ok()) {
      run->records.push_back(*std::move(record));
    } else {
      run->notes.push_back(absl::StrCat("record ", name, " is left out: ", record.status().message()));
    }
  }
  std::stable_sort(run->records.begin(), run->records.end(),
                   [](const ProfileRecord& a, const ProfileRecord& b) { return a.start_unix_ns < b.start_unix_ns; });
}

absl::Status ProfileCommand(const std::vector<std::string>& command, const CommandOptions& options, int* exit_status) {
  if (!options.output_dir.empty()) RETURN_IF_ERROR(CheckWritableDirectory(options.output_dir));
  ASSIGN_OR_RETURN(const ScratchDirectory scratch, ScratchDirectory::Create());
  ChildOptions child_options;
  child_options.environment = {{kProfileDirectoryVariable, scratch.path()}};
  child_options.max_time = options.max_time;
  child_options.output_to_messages = options.tsv;
  const double load = MachineLoad();  // the command itself is no other program
  ASSIGN_OR_RETURN(const ChildResult child, RunChild(command, child_options));
  *exit_status = child.exit_status;

  CommandProfile run;
  run.command = command;
  run.wall_s = child.wall_s;
  run.cpu_s = child.cpu_s;
  run.exit_status = child.exit_status;
  run.cut = child.cut;
  ReadRecords(scratch.path(), &run);
  const ProfileRecord* const lengthened = AddEnds(child, &run);
  if (run.records.empty()) {
    if (run.notes.empty()) run.notes.push_back(WithoutRecord(child, command[0]));
    run.notes.push_back(absl::StrCat("peak memory ", BytesText(child.peak_rss_bytes)));
  } else if (child.exit_status > 128 && !child.cut) {
    run.notes.push_back(absl::StrCat("ended by signal ", child.exit_status - 128, " (",
                                     strsignal(child.exit_status - 128), "): a tool that was killed left no record"));
  }
  // A command that we ended, and whose tool ended as it should after a signal, has not failed.
  if (child.cut && child.exit_status == 128 + SIGTERM && !run.records.empty()) *exit_status = 0;
  return Show(run, load, scratch.path(), lengthened, options);
}

absl::Status ShowRecords(const std::string& directory, const CommandOptions& options) {
  CommandProfile run;
  ReadRecords(directory, &run);
  if (run.records.empty()) {
    return absl::NotFoundError(absl::StrCat(directory, ": no record of a tool",
                                            run.notes.empty() ? "" : absl::StrCat("; ", run.notes.front())));
  }
  int64_t end_ns = 0;
  for (const ProfileRecord& record : run.records) {
    end_ns = std::max(end_ns, record.start_unix_ns + static_cast<int64_t>(1e9 * record.data.wall_s));
    run.cpu_s += record.cpu_s;
    run.exit_status = std::max(run.exit_status, record.exit_status);
  }
  run.wall_s = static_cast<double>(end_ns - run.records.front().start_unix_ns) / 1e9;
  run.command = {absl::StrCat("(records of ", directory, ")")};
  return Show(run, MachineLoad(), directory, /*lengthened=*/nullptr, options);
}

absl::Status ShowMachine(bool measure_peaks) {
  const MachineFacts facts = FindMachineFacts();
  ASSIGN_OR_RETURN(const MachinePeaks peaks, PeaksOfMachine(facts, MachineLoad(), measure_peaks, /*exceeded=*/false));
  std::cout << "name\tvalue\tunit\n";
  const auto text = [](const char* name, const std::string& value, const char* unit = "") {
    std::cout << name << "\t" << value << "\t" << unit << "\n";
  };
  const auto rate = [&](const char* name, double value, const char* unit) {
    if (value > 0) text(name, absl::StrFormat("%.4g", value / 1e9), unit);
  };
  text("cpu", facts.machine.cpu);
  text("instruction_set", facts.machine.instruction_set);
  text("bf16", facts.bf16);
  text("processors", absl::StrCat(facts.machine.processors));
  text("usable_processors", absl::StrCat(facts.machine.usable_processors));
  text("allowed_by_affinity", absl::StrCat(facts.allowed_by_affinity));
  text("allowed_by_cgroup", facts.allowed_by_cgroup > 0 ? absl::StrFormat("%.3g", facts.allowed_by_cgroup) : "");
  text("memory", absl::StrCat(facts.machine.memory_bytes), "B");
  text("l1", absl::StrCat(facts.l1_bytes), "B");
  text("l2", absl::StrCat(facts.l2_bytes), "B");
  text("l3", absl::StrCat(facts.l3_bytes), "B");
  text("kernel", facts.machine.kernel);
  text("compiler", facts.compiler);
  rate("fma_fp32_one", peaks.fma_fp32_one, "Gflop/s");
  rate("fma_fp32_all", peaks.fma_fp32_all, "Gflop/s");
  rate("fma_fp64_one", peaks.fma_fp64_one, "Gflop/s");
  rate("fma_fp64_all", peaks.fma_fp64_all, "Gflop/s");
  rate("matmul_fp32", peaks.matmul_fp32, "Gflop/s");
  rate("matmul_bf16", peaks.matmul_bf16, "Gflop/s");
  rate("memory_read_one", peaks.memory_read_one, "GB/s");
  rate("memory_read_all", peaks.memory_read_all, "GB/s");
  rate("memory_copy_all", peaks.memory_copy_all, "GB/s");
  rate("disk_write", peaks.disk_write, "GB/s");
  rate("disk_read", peaks.disk_read, "GB/s");
  if (peaks.load >= 0) text("load_when_measured", absl::StrFormat("%.1f", peaks.load));
  for (const std::string& warning : facts.warnings) PrintWarning(warning);
  return absl::OkStatus();
}

}  // namespace rutile
