// Explains the death of a process that reads a mapped file which another process has cut.
//
// Reading a page of a mapped file behind the file's new end raises SIGBUS. There is no way to go on, because the reader
// may be any loop over the data; but the user must learn which file it was.

#ifndef RUTILE_LIB_FILE_MAPPED_FILES_H_
#define RUTILE_LIB_FILE_MAPPED_FILES_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace rutile {

// Remembers that [address, address + size) shows the file `path`, until ForgetMapping(address). Thread-safe.
// FileContents calls both.
void RememberMapping(const void* address, size_t size, absl::string_view path);
void ForgetMapping(const void* address);

// From this call on, SIGBUS at the address of a mapping ends the process with status 1 and one line on standard error,
// "TOOL: PATH: ...", instead of by the signal. Other causes of SIGBUS end it by the signal, as before. `tool` must live
// until the program ends. Output files are not complete yet and do not appear, as after a kill.
void InstallMappedFileHandler(const char* tool);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_MAPPED_FILES_H_
