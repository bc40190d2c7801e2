# shellcheck shell=bash
# packages.sh - what the scripts of this project need from Debian, and how they get it.
# Sourced by demo/run, Tests/run, Benchmarks/run and .ci/run:
#
#   need_packages build demo    make sure that the packages of these purposes are there
#   need_swift                  make sure that a Swift 6 toolchain is there
#
# As root the missing packages are installed with apt-get. An ordinary user with a sudo that
# asks for no password gets the same through it; any other is told the one line to type, and
# the script ends with exit code 69 (EX_UNAVAILABLE). Nothing is asked of the network when
# nothing is missing.

# The names by purpose. The rest of the project refers to purposes only.
declare -A PACKAGES=(
  [build]="libsqlite3-dev libssl-dev zlib1g-dev libavahi-client-dev libcurl4-openssl-dev libqrencode-dev pkg-config"
  [run]="avahi-daemon avahi-utils dbus ca-certificates"
  [demo]="python3 curl openssl procps"
  [lan]="avahi-daemon avahi-utils dbus dbus-bin iproute2 nftables util-linux procps hostname"
  [test]="python3 curl openssl procps"
)

readonly EXIT_UNAVAILABLE=69

# missing_packages NAME...: those of them that dpkg does not know as installed.
missing_packages() {
  local name
  for name in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || echo "$name"
  done
}

# need_packages PURPOSE...
need_packages() {
  local purpose names=() missing
  for purpose in "$@"; do
    # Split on purpose: the table holds names with spaces between.
    # shellcheck disable=SC2206
    names+=(${PACKAGES[$purpose]:?unknown purpose $purpose})
  done
  if ! command -v dpkg-query >/dev/null; then
    echo "This is not a Debian system: the packages ${names[*]} cannot be looked up or installed here." >&2
    exit "$EXIT_UNAVAILABLE"
  fi
  mapfile -t missing < <(missing_packages "${names[@]}" | sort -u)
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      echo "These Debian packages are missing: ${missing[*]}. To install them, type:" >&2
      echo "    sudo sh -c 'apt-get update && ${install[*]}'" >&2
      exit "$EXIT_UNAVAILABLE"
    fi
  fi
  echo "Installing the Debian packages that are missing: ${missing[*]}"
  install_packages "${as_root[@]}" -- "${install[@]}"
  mapfile -t missing < <(missing_packages "${missing[@]}")
  if [[ ${#missing[@]} -gt 0 ]]; then
    echo "These packages could not be installed: ${missing[*]}. What apt-get said is above." >&2
    exit "$EXIT_UNAVAILABLE"
  fi
}

# install_packages [sudo -n] -- apt-get install ...
#
# Where no systemd runs (a container), the packages' own scripts would try to start their
# services and fail: a policy-rc.d that says no is put there for the time of the installation,
# unless one is there already.
install_packages() {
  local as_root=() policy=/usr/sbin/policy-rc.d
  while [[ $1 != -- ]]; do
    as_root+=("$1")
    shift
  done
  shift
  (
    if [[ ! -d /run/systemd/system && ! -e $policy ]]; then
      trap '"${as_root[@]}" rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
      "${as_root[@]}" chmod 755 "$policy"
    fi
    # A failed update is no reason to stop: the lists that are there may be good enough.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q ||
      echo "apt-get update failed; trying with the package lists that are here." >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@"
  ) || true
}

# need_swift: a toolchain of version 6 or newer in PATH.
need_swift() {
  local text version
  if ! command -v swift >/dev/null; then
    echo "No Swift toolchain is in PATH. Install Swift 6 from https://www.swift.org/install/linux/" >&2
    echo "and put its usr/bin in PATH, e.g.:  export PATH=/opt/swift/usr/bin:\$PATH" >&2
    exit "$EXIT_UNAVAILABLE"
  fi
  text=$(swift --version 2>/dev/null) || true
  version=$(sed -n 's/.*Swift version \([0-9][0-9]*\).*/\1/p' <<<"$text" | head -1)
  if [[ -z $version || $version -lt 6 ]]; then
    echo "Swift 6 or newer is needed, and $(command -v swift) is: ${text:-not working}" >&2
    echo "Install it from https://www.swift.org/install/linux/" >&2
    exit "$EXIT_UNAVAILABLE"
  fi
}
