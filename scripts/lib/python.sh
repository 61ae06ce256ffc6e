# shellcheck shell=bash
# The Python package, for ./run: build in place, tests, wheels.

python_venv=build/venv-python

# The extension of build/release, importable from build/release/python.
build_python() {
  ensure_packages python3-dev
  ensure_venv $python_venv tests/python/requirements.txt
  configure release -DTOUCHSTONE_BUILD_PYTHON=ON -DPython_EXECUTABLE="$root/$python_venv/bin/python"
  build release --target touchstone_python_stub
}

test_python() {
  build_python
  PYTHONPATH=$root/build/release/python $python_venv/bin/python -m pytest tests/python -q -p no:cacheprovider \
    --junitxml=build/log/junit/python.xml
}

# Interpreters of the versions that we support, one of each, the newest first.
list_interpreters() {
  local version path
  for version in 3.13 3.12 3.11 3.10 3.9; do
    path=$(command -v "python$version" 2>/dev/null || true)
    if [ -z "$path" ] || ! "$path" -c '' 2>/dev/null; then
      path=$(find "$HOME/.pyenv/versions" -maxdepth 3 -path "*/$version.*/bin/python$version" 2>/dev/null | head -n 1)
    fi
    [ -z "$path" ] || echo "$path"
  done
}

# build_wheels [INTERPRETER...]: dist/*.whl that need nothing of this machine but its C library. From 3.12 on one wheel
# serves all versions (stable ABI), so the newest ones share theirs.
build_wheels() {
  local interpreter tag tools=build/venv-wheel interpreters=("$@")
  [ ${#interpreters[@]} -gt 0 ] || mapfile -t interpreters < <(list_interpreters)
  [ ${#interpreters[@]} -gt 0 ] || fail "no Python 3.9 to 3.13 found"
  ensure_packages "${build_packages[@]}"
  ensure_web
  ensure_venv $tools scripts/requirements-wheel.txt
  rm -rf build/wheels dist
  for interpreter in "${interpreters[@]}"; do
    tag=$("$interpreter" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    case "$tag" in
      cp31[3-9])
        if [ -f build/wheels/abi3 ]; then continue; fi
        interpreter=$(printf '%s\n' "${interpreters[@]}" | grep -m 1 -E 'python3\.12$' || echo "$interpreter")
        ;;
      cp312) if [ -f build/wheels/abi3 ]; then continue; fi ;;
    esac
    echo "Building the wheel for $("$interpreter" --version)"
    rm -f build/wheel/CMakeCache.txt # the objects stay, the interpreter changes
    quietly "wheel-$tag" "$tools/bin/python" -m pip --python "$interpreter" wheel . --no-deps -w build/wheels
    if compgen -G 'build/wheels/*-abi3-*' >/dev/null; then touch build/wheels/abi3; fi
  done
  for wheel in build/wheels/*.whl; do
    PATH=$root/$tools/bin:$PATH quietly auditwheel "$tools/bin/auditwheel" repair "$wheel" -w dist
  done
  ls -l dist
}

# test_wheels [INTERPRETER...]: each installed into an environment of its own, far from this folder.
test_wheels() {
  local interpreter place interpreters=("$@")
  [ ${#interpreters[@]} -gt 0 ] || mapfile -t interpreters < <(list_interpreters)
  for interpreter in "${interpreters[@]}"; do
    place=$(mktemp -d)
    "$interpreter" -m venv "$place/venv"
    quietly wheel-install "$place/venv/bin/pip" install --disable-pip-version-check --find-links dist touchstone-sim ||
      return
    cp -r examples/python tests/python/wheel_check.py "$place"
    quietly wheel-check env -u PYTHONPATH -C "$place" venv/bin/python wheel_check.py python || return
    echo "   $("$interpreter" --version): ok"
    rm -rf "$place"
  done
}
