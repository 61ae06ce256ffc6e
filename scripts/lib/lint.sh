# shellcheck shell=bash
# Formatting and static checks, for ./run. A check prints only what is wrong.

# list_sources PATTERN...: our files, committed or not.
list_sources() {
  local files file
  files=$(git ls-files --cached --others --exclude-standard -- "$@") || fail "git cannot list the files of this folder"
  [ "$files" ] || fail "git knows no file like $*"
  while read -r file; do
    if [ -f "$file" ]; then echo "$file"; fi
  done <<<"$files"
}

check_format() {
  local unformatted
  unformatted=$(list_sources '*.cpp' '*.hpp' | xargs -r clang-format-14 --dry-run -Werror 2>&1 |
    grep -oE '^[^:]+\.[ch]pp' | sort -u || true)
  if [ "$unformatted" ]; then
    echo "$unformatted"
    echo "run: not formatted; './run format' mends it" >&2
    return 1
  fi
}

check_python() {
  ensure_venv build/venv scripts/requirements-dev.txt
  build/venv/bin/ruff check -q .
  build/venv/bin/ruff format -q --check --diff .
}

check_web() {
  ensure_node_modules
  npm --prefix web run --silent check
  npm --prefix web run --silent lint
  npm --prefix web run --silent format:check
}

check_shell() {
  shellcheck -x run .ci/run # follows run into scripts/lib
}

# The compiler enforces the arrows between folders as long as nobody steps around the include roots.
check_includes() {
  if list_sources 'src/*.cpp' 'src/*.hpp' 'apps/*.cpp' 'apps/*.hpp' | xargs -r grep -nE '#include "(\.|src/)'; then
    echo 'write includes as "touchstone/<folder>/<file>"' >&2
    return 1
  fi
}

# Long functions and files, calls to the solver, headers behind the main ones: none may grow.
check_house() {
  python3 scripts/measure_house.py
}

check_tidy() {
  ensure_venv build/venv scripts/requirements-dev.txt
  configure tidy
  list_sources 'src/*.cpp' 'apps/*.cpp' |
    xargs -r build/venv/bin/python scripts/tidy.py --build build/tidy --jobs "$jobs"
}

format_sources() {
  ensure_packages "${develop_packages[@]}"
  ensure_venv build/venv scripts/requirements-dev.txt
  list_sources '*.cpp' '*.hpp' | xargs -r clang-format-14 -i
  build/venv/bin/ruff check -q --fix .
  build/venv/bin/ruff format -q .
  ensure_node_modules
  npm --prefix web run --silent format
}

lint_stages() {
  stage "format" check_format
  stage "includes" check_includes
  stage "sizes" check_house
  stage "python lint" check_python
  stage "shell lint" check_shell
  stage "web lint" check_web
  stage "clang-tidy" check_tidy
}

run_lint() {
  ensure_packages "${build_packages[@]}" "${develop_packages[@]}"
  lint_stages
  summary
}
