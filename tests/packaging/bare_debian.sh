# Sourced by what tries packages in a bare Debian 12 (chroot), from the root of the tree; `script` is the caller's name.
# make_bare_debian sets `root`, a folder that is removed at the end, `debian`, where the system is in it, and `nobody`, the
# words before a command that an unprivileged user runs in there.

umask 022
bare_tar=${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/bookworm-minbase.tar
step() { echo "$script: $1"; }
die() { echo "$script: $1" >&2; exit "${2:-1}"; }

[ "$(id -u)" -eq 0 ] || die "run it as root: it needs chroot" 2
ls build/package/*.deb >/dev/null 2>&1 || die "run scripts/package first" 2

# make_bare_debian: the first time it needs debootstrap and a Debian mirror.
make_bare_debian() {
  root=$(mktemp -d)
  debian=$root/debian
  nobody=(chroot --userspec=nobody:nogroup "$debian" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp)
  trap remove_bare_debian EXIT
  if [ ! -f "$bare_tar" ]; then
    step "make a bare Debian 12"
    command -v debootstrap >/dev/null || die "there is no debootstrap: apt-get install debootstrap" 2
    mkdir -p "$(dirname "$bare_tar")"
    debootstrap --variant=minbase bookworm "$root/base" >"$root/log" || { tail "$root/log" >&2; exit 1; }
    tar -C "$root/base" -cf "$bare_tar.part" . && mv "$bare_tar.part" "$bare_tar"
    rm -rf "$root/base"
  fi
  chmod 755 "$root"
  mkdir "$debian"
  tar -C "$debian" -xf "$bare_tar"
  [ -e "$debian/dev/null" ] || mknod -m 666 "$debian/dev/null" c 1 3
  mount -t proc proc "$debian/proc"
  cp /etc/resolv.conf "$debian/etc/resolv.conf"
}
remove_bare_debian() {
  umount "$debian/proc" 2>/dev/null || true
  rm -rf "$root"
}
inside() { chroot "$debian" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
as_nobody() { "${nobody[@]}" "$@"; }
