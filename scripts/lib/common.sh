# shellcheck shell=bash
# Messages, packages, Python environments and builds, for ./run.

fail() {
  echo "run: $*" >&2
  exit 1
}

build_packages=(
  g++ cmake ninja-build ccache libeigen3-dev libfmt-dev libpugixml-dev libassimp-dev libpng-dev libqhull-dev
  libhdf5-dev zlib1g-dev libboost-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev)
develop_packages=(clang-14 clang-format-14 libclang-rt-14-dev llvm-14 shellcheck python3-venv)

# ensure_packages NAME...: installs what is missing, in one go.
ensure_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    if ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then
      fail "cmake and ninja not found; on this system install what Debian calls: $*"
    fi
    [ "${packages_noted:-}" ] || echo "Not a Debian system: using what is installed. Needed, by Debian's names: $*" >&2
    packages_noted=1
    return
  fi
  local name missing=()
  for name in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "missing packages; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  quietly packages "${as_root[@]}" apt-get update -qq
  quietly packages "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# quietly LOG COMMAND...: keeps the output in build/log/LOG.log and shows it only if the command fails.
quietly() {
  local log=build/log/$1.log status=0
  shift
  if [ "${VERBOSE:-}" ]; then
    "$@"
    return
  fi
  mkdir -p build/log
  "$@" >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then
    tail -n 120 "$log" >&2
    echo "run: '$1' failed (status $status); the whole output is in $log" >&2
  fi
  return $status
}

is_recent_python() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Says at once what would else be a puzzling error in the middle of a build.
check_tools() {
  local version
  version=$(cmake --version | head -n 1 | grep -oE '[0-9]+\.[0-9]+')
  [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ] ||
    fail "CMake $version is too old; 3.25 or newer is needed (Debian 12, Ubuntu 24.04)"
  version=$("${CXX:-g++}" -dumpversion)
  [ "${version%%.*}" -ge 12 ] ||
    fail "${CXX:-g++} $version is too old; g++ 12 or clang 14 is needed (Debian 12, Ubuntu 24.04)"
}

# ensure_venv DIRECTORY REQUIREMENTS: a Python environment with exactly those versions.
ensure_venv() {
  local venv=$1 requirements=$2 python=/usr/bin/python3 stamp
  [ -f "$requirements" ] || fail "$requirements does not exist"
  stamp=$(sha256sum <"$requirements")
  if ! "$venv/bin/python" -c '' 2>/dev/null; then
    rm -rf "$venv"
    is_recent_python "$python" || python=$(command -v python3) || fail "python3 not found; install Python 3.11 or newer"
    is_recent_python "$python" || fail "$("$python" --version) is too old; install Python 3.11 or newer"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || ensure_packages python3-venv
    quietly venv "$python" -m venv "$venv"
  fi
  if [ "$(cat "$venv/requirements.sha256" 2>/dev/null)" != "$stamp" ]; then
    echo "Installing Python packages of $requirements"
    quietly pip "$venv/bin/python" -m pip install --disable-pip-version-check -q -r "$requirements" ||
      fail "pip could not install $requirements; is there a network?"
    echo "$stamp" >"$venv/requirements.sha256"
  fi
}

# Node.js 18.18 or newer with npm, wherever it comes from; Debian's packages if there is none.
ensure_node() {
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then ensure_packages nodejs npm; fi
  node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 18 || (a == 18 && b >= 18) ? 0 : 1)' ||
    fail "Node.js $(node --version) is too old; install 18.18 or newer"
}

ensure_chromium() {
  command -v chromium >/dev/null || ensure_packages chromium
}

# ensure_node_modules: exactly what web/package-lock.json names.
ensure_node_modules() {
  local stamp
  stamp=$(sha256sum <web/package-lock.json)
  if [ ! -d web/node_modules ] || [ "$(cat web/node_modules/.stamp 2>/dev/null)" != "$stamp" ]; then
    ensure_node
    echo "Installing the Node.js packages of web/"
    quietly npm npm --prefix web ci --ignore-scripts --no-audit --no-fund --loglevel=error || return
    echo "$stamp" >web/node_modules/.stamp
  fi
}

# The viewer's page, build/web/viewer.html, made again when web/ has changed. The build embeds it; without it (no
# Node.js, no network) everything but the viewer works.
ensure_web() {
  local stamp
  stamp=$(find web -name node_modules -prune -o -path web/tests -prune -o -type f -print0 | sort -z | xargs -0 sha256sum |
    sha256sum)
  [ "$(cat build/web.stamp 2>/dev/null)" != "$stamp" ] || [ ! -f build/web/viewer.html ] || return 0
  echo "Building the viewer's page"
  if ensure_node_modules && quietly web npm --prefix web run --silent build; then
    echo "$stamp" >build/web.stamp
  else
    echo "run: the viewer's page could not be built; going on without a new one" >&2
  fi
}

configure() {
  local preset=$1
  shift
  check_tools
  ensure_web
  quietly "configure-$preset" cmake --preset "$preset" "$@"
}

progress_seconds=15

# now_and_then: passes on a line of ninja's output ("[ 37%] Building CXX object a/b.dir/c/d.cpp.o") every few seconds, short.
now_and_then() {
  local line last=$SECONDS
  while IFS= read -r line; do
    if [ $((SECONDS - last)) -ge $progress_seconds ] && [[ $line =~ ^\[\ *([0-9]+)%\]\ (.*)$ ]]; then
      last=$SECONDS
      line=${BASH_REMATCH[2]##*.dir/}
      printf '   %3d %%  %s\n' "${BASH_REMATCH[1]}" "${line%.o}"
    fi
  done
}

# build PRESET [CMAKE_BUILD_ARGUMENT...]: shows how far it is, in one line on a terminal, else in a line now and then.
build() {
  local preset=$1 log=build/log/build-$1.log status=0
  shift
  export NINJA_STATUS='[%p] '
  if [ -t 1 ] || [ "${VERBOSE:-}" ]; then
    cmake --build --preset "$preset" "$@"
    return
  fi
  mkdir -p build/log
  cmake --build --preset "$preset" "$@" 2>&1 | tee "$log" | now_and_then || status=${PIPESTATUS[0]}
  if [ "$status" -ne 0 ]; then
    tail -n 120 "$log" >&2
    echo "run: the build failed; the whole output is in $log" >&2
  fi
  return "$status"
}

run_touchstone() {
  {
    ensure_packages "${build_packages[@]}"
    configure release
    build release --target touchstone
  } >&2 # standard output belongs to the program
  exec build/release/bin/touchstone "$@"
}
