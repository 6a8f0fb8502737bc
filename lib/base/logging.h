// Defines LOG, CHECK, DCHECK and VLOG. This is the only header that includes glog.
//
// Debian's LibTorch logs through glog too, so both agree there. Other builds of LibTorch define macros of the same
// names in c10/util/Logging.h; this header drops those, so that LOG and CHECK mean glog's in any order of includes. No
// header that includes ATen includes this one.
//
// CHECK is for our own bugs. Errors that input or environment can cause are an absl::Status.
//
//   CHECK_EQ(x.size(), y.size());
//   LOG(WARNING) << path << ": no energies";

#ifndef RUTILE_LIB_BASE_LOGGING_H_
#define RUTILE_LIB_BASE_LOGGING_H_

// @libtorch defines this for the targets that depend on it when c10 has macros of its own. They have to come before
// glog's: a later ATen header would replace LOG and CHECK without a word, as system headers do.
#ifdef RUTILE_C10_HAS_OWN_LOG
#include <c10/util/Logging.h>
#endif

// When glog is here already (Debian's c10 includes it), these are its own macros, and its guard would keep them gone.
#ifndef GLOG_LOGGING_H
#undef LOG
#undef LOG_IF
#undef VLOG
#undef VLOG_IF
#undef VLOG_IS_ON
#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT
#undef CHECK_NOTNULL
#undef DLOG
#undef DCHECK
#undef DCHECK_EQ
#undef DCHECK_NE
#undef DCHECK_LE
#undef DCHECK_LT
#undef DCHECK_GE
#undef DCHECK_GT
#undef DCHECK_NOTNULL
#undef LOG_EVERY_N
#endif

#include <glog/logging.h>

#endif  // RUTILE_LIB_BASE_LOGGING_H_
