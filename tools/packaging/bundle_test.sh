#!/usr/bin/env bash
# bundle_test.sh ARCHIVE [ROOT]: the archive of tools/bundle.sh runs the README's commands in a root that has a static
# busybox and nothing else, no glibc either, as an ordinary user, without network, wherever it is unpacked. With ROOT, a
# folder with another system (debootstrap), in a copy of that. Says why it skips where it cannot be run.
set -euo pipefail
umask 022
archive=$(realpath "$1") system=${2-}
readme=$(realpath "$(dirname "$0")/../../README.md")
private=$(tar -tvzf "$archive" | grep -vE '^(l|-rw[-x]r-[-x]r-[-x]|drwxr-xr-x) ?' || true)
[ -z "$private" ] || { echo "not for everybody: $private"; exit 1; }
skip() {
  echo "skipped: $*"
  exit 0
}
busybox=$(command -v busybox) && ! ldd "$busybox" > /dev/null 2>&1 ||
  skip "no static busybox (apt-get install busybox-static)"
isolate=(unshare --mount --net --pid --fork)
[ "$(id -u)" = 0 ] || isolate+=(--map-root-user)
"${isolate[@]}" true 2> /dev/null || skip "this system does not allow namespaces (unshare)"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
if [ -n "$system" ]; then
  cp -a "$system/." "$root"
else
  mkdir "$root/bin"
  cp "$busybox" "$root/bin/busybox"
  "$busybox" --list | while read -r applet; do [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"; done
fi
mkdir -p "$root"/{proc,dev,tmp,user/work}
chmod 1777 "$root/tmp"
# Not where it was made, with a space in its path, and reached by a link from elsewhere.
mkdir "$root/user/some folder"
tar -xzf "$archive" -C "$root/user/some folder"
folder=$(basename "$archive" .tar.gz)
ln -s "../some folder/$folder/bin/rutile" "$root/user/work/rutile"
ln -s "../some folder/$folder/share/rutile/examples/data" "$root/user/work/data"
sed -n '/^```sh$/,/^```$/p' "$readme" | grep -v '^```' > "$root/user/readme.sh"
[ -s "$root/user/readme.sh" ]
cat > "$root/user/test.sh" << 'END'
set -eu
cd /user/work
archive=$(dirname "$(dirname "$(readlink -f rutile)")")
./rutile --version
./rutile --help > /dev/null
PATH=$(./rutile --path):$PATH
set -x
# A program starts itself and its neighbor.
"$archive/bin/rutile-featurize" --output=e.safetensors --train=data/elements/train.txt --valid=data/elements/valid.txt
train=$archive/bin/rutile-train
"$train" --num_processes=2 --kge_model=distmult --max_epochs=1 --output_dir=two e.safetensors
printf 'Ti\telement_below\tZr\n' > one.tsv
tracin=$archive/bin/rutile-tracin
"$tracin" --verify=2 --learning_rate=1 --train=e.safetensors --test=one.tsv two/best.safetensors > out
"$archive/bin/rutile" profile -- train --kge_model=distmult --max_epochs=1 --output_dir=few e.safetensors > out
. /user/readme.sh
rutile=$archive/bin/rutile
"$rutile" info run/best.safetensors > /dev/null
"$rutile" kim --help > /dev/null || [ ! -e /bin/bash ]
END
[ "$(id -u)" != 0 ] || chown -R 1000:1000 "$root/user"
# Only what a session on any Linux has is in the environment.
"${isolate[@]}" env -i PATH="$PATH" ROOT="$root" BUSYBOX="$busybox" bash -euc '
  "$BUSYBOX" ip link set lo up  # processes of one run meet there
  mount -t proc proc "$ROOT/proc"
  for device in null zero urandom; do
    touch "$ROOT/dev/$device"
    mount --bind "/dev/$device" "$ROOT/dev/$device"
  done
  user=()
  [ "$(stat -c %u "$ROOT/user")" = 0 ] || user=(--userspec=1000:1000)
  chroot "${user[@]}" "$ROOT" /bin/env -i HOME=/user PATH=/usr/bin:/bin sh /user/test.sh'
echo "passed: $(du -sh "$root/user/some folder" | cut -f1) unpacked"
