#!/usr/bin/env bash
# A small WordNet of our own: which pointers become facts, once each, under which names, and what is refused.
set -euo pipefail
script=$PWD/tools/data/wordnet_graph.py
cd "$TEST_TMPDIR"
mkdir -p wordnet

# The format is wndb(5): offset, file, type, words in hexadecimal, words with ids, pointers, gloss. Word 10 is
# hexadecimal, a license line begins with blanks, and a gloss may hold anything.
cat > wordnet/data.noun << DATA
  1 A license, which is no synset.
00000100 03 n 01 thing 0 003 ~ 00000200 n 0000 ~ 00000300 n 0000 ~ 00000400 n 0000 | all there is
00000200 03 n 10 crystal 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 k 0 l 0 m 0 n 0 o 0 p 0 \
004 @ 00000100 n 0000 %s 00000300 n 0000 -c 00000500 n 0000 + 00000700 v 0101 | "a solid | with order"
00000300 03 n 02 atom 0 particle 0 003 @ 00000100 n 0000 #s 00000200 n 0000 ! 00000400 n 0101 | small
00000400 03 n 01 void 0 002 @ 00000100 n 0000 ! 00000300 n 0101 | nothing
00000500 03 n 01 twin 0 003 @ 00000200 n 0000 ;c 00000200 n 0000 = 00000800 a 0000 | grown together
00000600 03 n 01 Koh-i-noor 0 001 @i 00000200 n 0000 | a diamond
DATA
cat > wordnet/data.verb <<'DATA'
00000700 30 v 01 crystallize 0 001 + 00000200 n 0101 02 + 08 00 + 09 01 | become a crystal
DATA
cat > wordnet/data.adj <<'DATA'
00000800 00 s 01 twinned(a) 0 001 = 00000500 n 0000 | as twins are
DATA

python3 "$script" --wordnet=wordnet --output_dir=nouns --valid=0 --test=0 2> message
diff - message <<< '6 entities, 5 relations, 8 triples: 8 train, 0 valid, 0 test'
diff - nouns/train.txt << 'DATA'
Koh-i-noor.n.00000600	instance_hypernym	crystal.n.00000200
atom.n.00000300	antonym	void.n.00000400
atom.n.00000300	hypernym	thing.n.00000100
atom.n.00000300	substance_holonym	crystal.n.00000200
crystal.n.00000200	hypernym	thing.n.00000100
twin.n.00000500	domain_topic	crystal.n.00000200
twin.n.00000500	hypernym	crystal.n.00000200
void.n.00000400	hypernym	thing.n.00000100
DATA

# Other parts of speech add what links to them; a satellite adjective is an adjective, and its marker is no part of it.
python3 "$script" --wordnet=wordnet --output_dir=all --pos=noun,verb,adj --valid=0 --test=0 2> /dev/null
diff <(comm -13 nouns/train.txt all/train.txt) - << 'DATA'
crystal.n.00000200	derivation	crystallize.v.00000700
twin.n.00000500	attribute	twinned.a.00000800
DATA

# A split keeps every name in train; the same seed gives the same.
python3 "$script" --wordnet=wordnet --output_dir=split --valid=1 --test=1 2> /dev/null
[ "$(cat split/valid.txt split/test.txt | wc -l)" = 2 ]
cat split/*.txt | sort | cmp - <(sort nouns/train.txt)
cut -f1,3 split/valid.txt split/test.txt | tr '\t' '\n' | while read -r name; do grep -qF "$name" split/train.txt; done
python3 "$script" --wordnet=wordnet --output_dir=again --valid=1 --test=1 2> /dev/null
diff -r split again

# refused MESSAGE ARGUMENT...: fails, and says so.
refused() {
  local message=$1
  shift
  if python3 "$script" --output_dir=none "$@" 2> message; then echo "accepts $*"; exit 1; fi
  grep -qF -e "$message" message || { cat message; exit 1; }
  [ ! -e none ]
}
refused 'apt-get install wordnet-base' --wordnet=absent
refused 'must be some of noun,verb,adj,adv' --pos=noun,noun
refused '--test=100: only' --wordnet=wordnet --test=100
mkdir -p cut lost
head -c 240 wordnet/data.noun > cut/data.noun
refused 'cut/data.noun:3: not a synset as in wndb(5)' --wordnet=cut
sed '/^00000100/d' wordnet/data.noun > lost/data.noun
refused 'points to n.00000100, which is not there' --wordnet=lost
