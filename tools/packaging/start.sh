#!/bin/sh
# Starts the program of this name in lib/rutile/programs with the archive's own loader and libraries, so that it runs on
# any Linux of this processor, whatever its glibc. Nothing of the environment changes for the program's children but the
# name of this script, by which the program starts itself again.
RUTILE_START_SCRIPT=$(readlink -f "$0")
export RUTILE_START_SCRIPT
libraries=${RUTILE_START_SCRIPT%/libexec/rutile/*}/lib/rutile
exec "$libraries/runtime/@LOADER@" --library-path "$libraries/runtime:$libraries" \
  "$libraries/programs/${RUTILE_START_SCRIPT##*/}" "$@"
