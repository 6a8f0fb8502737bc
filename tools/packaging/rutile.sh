#!/bin/sh
# rutile TOOL [ARGUMENT...]: runs a tool of rutile. The tools lie in libexec/rutile beside this file's bin/, wherever
# the whole was unpacked or installed.

self=$(readlink -f "$0")
prefix=${self%/bin/*}
tools=$prefix/libexec/rutile
short=$tools/short

case ${1-} in
  '' | -h | --help | help)
    echo 'rutile - machine-learning interatomic potentials, and embeddings of knowledge graphs'
    echo
    echo 'Usage: rutile TOOL [ARGUMENT...]       and the same as rutile-TOOL'
    echo '       rutile TOOL --help              flags of a tool; man rutile-TOOL'
    echo '       rutile --path                   where the tools are under their short names:'
    echo '                                       export PATH=$(rutile --path):$PATH'
    echo '       rutile --version                version, commit, what this build can do'
    echo
    while read -r name what; do
      [ ! -x "$tools/$name" ] || printf '  %-17s%s\n' "$name" "$what"
    done << END
cache-neighbors finds the neighbors of every atom once; known answers of triples
featurize computes descriptors; encodes triples
train fits a potential, or embeddings of a knowledge graph
evaluate reports errors, ranks and predictions
tracin finds the training data that an answer comes from
profile says where the time of a command goes, and which flags are faster
info prints what is in tensor files
diff compares two tensor files
kim makes a potential into a portable model for LAMMPS
END
    exit 0
    ;;
  --version) exec cat "$prefix/share/rutile/version" ;;
  --path) echo "$short"; exit ;;
  *[!a-z-]* | -*) ;;
  *)
    # profile runs commands, which are found by their short names, too.
    if [ -f "$tools/$1" ] && [ -x "$tools/$1" ]; then
      PATH=$short:$PATH
      export PATH
      name=$1
      shift
      exec "$tools/$name" "$@"
    fi
    ;;
esac
echo "rutile: $1 is no tool of rutile; expected one of those that rutile --help lists" >&2
exit 1
