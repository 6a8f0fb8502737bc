// --threads, the same in every tool.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_THREAD_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_THREAD_FLAGS_H_

namespace rutile {

// How many threads --threads asks for: 0 is all processors that the process may use.
int ThreadsFromFlags();
// Other processes work beside this one: so many processors fall to it, at least 1, and are its default.
void TakeProcessors(int number);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_THREAD_FLAGS_H_
