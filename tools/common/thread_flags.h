// --threads, the same in every tool.

#ifndef RUTILE_TOOLS_COMMON_THREAD_FLAGS_H_
#define RUTILE_TOOLS_COMMON_THREAD_FLAGS_H_

namespace rutile {

// How many threads --threads asks for: 0 is all processors that the process may use.
int ThreadsFromFlags();
// So many processes like this one work on this machine: by default each takes its part of the processors.
void ShareProcessors(int processes);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_THREAD_FLAGS_H_
