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

# Interpreters of the versions that we support, one of each. 3.12 before 3.13: its wheel serves both.
list_interpreters() {
  local version path
  for version in 3.9 3.10 3.11 3.12 3.13; do
    path=$(command -v "python$version" 2>/dev/null || true)
    if [ -z "$path" ] || ! "$path" -c '' 2>/dev/null; then
      path=$(find "$HOME/.pyenv/versions" -maxdepth 3 -path "*/$version.*/bin/python$version" 2>/dev/null | head -n 1)
    fi
    [ -z "$path" ] || echo "$path"
  done
}

# build_wheels [INTERPRETER...]: dist/*.whl that need nothing of this machine but its C library. From 3.12 on one wheel
# serves all versions (stable ABI). The library is that of the release build, which pip would make once more otherwise.
build_wheels() {
  local interpreter tag wheel tools=build/venv-wheel interpreters=("$@") done=' '
  [ ${#interpreters[@]} -gt 0 ] || mapfile -t interpreters < <(list_interpreters)
  [ ${#interpreters[@]} -gt 0 ] || fail "no Python 3.9 to 3.13 found"
  ensure_packages "${build_packages[@]}"
  ensure_venv $tools scripts/requirements-wheel.txt
  configure release
  build release --target touchstone
  rm -rf build/wheels dist
  for interpreter in "${interpreters[@]}"; do
    tag=$("$interpreter" -c 'import sys; print("abi3" if sys.version_info >= (3, 12) else "cp%d%d" % sys.version_info[:2])')
    case "$done" in *" $tag "*) continue ;; esac
    done="$done$tag "
    echo "Building the wheel for $("$interpreter" --version)"
    CC=$(command -v cc) CXX=$(command -v c++) quietly "wheel-$tag" "$tools/bin/python" -m pip --python "$interpreter" \
      wheel . --no-deps -w build/wheels -C build-dir=build/release -C cmake.define.TOUCHSTONE_WERROR=ON \
      -C cmake.define.TOUCHSTONE_BUILD_TESTS=ON -C cmake.define.TOUCHSTONE_BUILD_BENCH=ON
  done
  for wheel in build/wheels/*.whl; do
    PATH=$root/$tools/bin:$PATH quietly auditwheel "$tools/bin/auditwheel" repair "$wheel" -w dist
  done
  ls dist
}

# test_wheels [INTERPRETER...]: each installed into an environment of its own, far from this folder.
test_wheels() {
  local interpreter place interpreters=("$@")
  [ ${#interpreters[@]} -gt 0 ] || mapfile -t interpreters < <(list_interpreters)
  for interpreter in "${interpreters[@]}"; do
    place=$(mktemp -d)
    "$interpreter" -m venv "$place/venv"
    quietly wheel-install "$place/venv/bin/pip" install --disable-pip-version-check numpy matplotlib
    quietly wheel-install "$place/venv/bin/pip" install --disable-pip-version-check --no-index --no-deps \
      --find-links dist touchstone-sim
    cp -r examples/python tests/python/wheel_check.py "$place"
    quietly wheel-check env -u PYTHONPATH -C "$place" venv/bin/python wheel_check.py python
    echo "   $("$interpreter" --version): ok"
    rm -rf "$place"
  done
}
