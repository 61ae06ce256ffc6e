# shellcheck shell=bash
# The stages of ./run test, and their summary.

passed=0
failed=0
skipped=0
failed_stages=()

# stage NAME COMMAND...: runs it, times it and counts it: as one check, or as the tests of the JUnit
# files that it leaves in build/log/junit. Its outcome is in stage_status; later stages go on.
stage() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  rm -rf build/log/junit
  mkdir -p build/log/junit
  set +e # not "if", which would switch off -e inside
  (
    set -e
    "$@"
  )
  stage_status=$?
  set -e
  count_tests "$stage_status"
  if [ "$stage_status" -ne 0 ]; then
    failed_stages+=("$name")
    echo "   FAILED after $((SECONDS - start)) s"
  else
    echo "   ok, $((SECONDS - start)) s"
  fi
}

count_tests() {
  local status=$1 file tests bad idle failed_before=$failed counted=0
  for file in build/log/junit/*.xml; do
    [ -f "$file" ] || continue
    counted=1
    tests=$(junit_sum tests "$file")
    bad=$(($(junit_sum failures "$file") + $(junit_sum errors "$file")))
    idle=$(($(junit_sum skipped "$file") + $(junit_sum disabled "$file")))
    passed=$((passed + tests - bad - idle))
    failed=$((failed + bad))
    skipped=$((skipped + idle))
  done
  if [ "$status" -ne 0 ]; then
    if [ $failed -eq "$failed_before" ]; then failed=$((failed + 1)); fi
  elif [ $counted -eq 0 ]; then
    passed=$((passed + 1))
  fi
}

# junit_sum ATTRIBUTE FILE: the attribute's sum over the <testsuite> elements; 0 if there is none.
junit_sum() {
  tr '\n\t' '  ' <"$2" | grep -oE '<testsuite [^>]*' | grep -oE " $1=\"[0-9]+\"" | grep -oE '[0-9]+' |
    awk '{ sum += $1 } END { print sum + 0 }' || true
}

summary() {
  echo
  [ ${#failed_stages[@]} -eq 0 ] || printf 'failed: %s\n' "${failed_stages[@]}"
  echo "$passed passed, $failed failed, $skipped skipped in $SECONDS s"
  [ ${#failed_stages[@]} -eq 0 ]
}

# run_ctest PRESET [CTEST_ARGUMENT...]
run_ctest() {
  local preset=$1
  shift
  quietly "ctest-$preset" ctest --preset "$preset" -j "$jobs" --no-tests=error \
    --output-junit "$root/build/log/junit/ctest.xml" "$@"
}

# build_for_tests PRESET [CMAKE_ARGUMENT...]
build_for_tests() {
  local preset=$1
  shift
  configure "$preset" -DTOUCHSTONE_PEERS=OFF "$@"
  build "$preset"
}

# build_and_test NAME PRESET [CTEST_ARGUMENT...]: two stages, the second if the first went well (built).
build_and_test() {
  local name=$1 preset=$2
  shift 2
  built=
  stage "$name: build" build_for_tests "$preset"
  if [ "$stage_status" -eq 0 ]; then
    built=1
    stage "$name: tests" run_ctest "$preset" "$@"
  fi
}

set_sanitizer_options() {
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
  export ASAN_SYMBOLIZER_PATH=${ASAN_SYMBOLIZER_PATH:-$(command -v llvm-symbolizer-14 || true)}
}

# Installs the library and uses it from a project of its own, as a user would.
test_consumer() {
  rm -rf build/consumer-prefix
  quietly consumer cmake --install build/release --prefix build/consumer-prefix
  quietly consumer cmake -S tests/consumer -B build/consumer -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$root/build/consumer-prefix"
  quietly consumer cmake --build build/consumer
  quietly consumer build/consumer/consumer
}

# The page in Debian's chromium: as a file, and live against the program.
test_web() {
  ensure_node
  ensure_node_modules
  ensure_chromium
  TOUCHSTONE_BUILD=$root/build/release TOUCHSTONE_JUNIT=$root/build/log/junit/web.xml \
    quietly web-tests npm --prefix web run --silent test
}

test_peers() {
  if [ ! -f tests/peers/requirements.txt ]; then
    echo "   nothing to compare: tests/peers/requirements.txt does not exist"
    return
  fi
  ensure_venv build/venv-peers tests/peers/requirements.txt
  TOUCHSTONE_BUILD=$root/build/release build/venv-peers/bin/python -m pytest tests/peers -q -n "$jobs" \
    --junitxml=build/log/junit/pytest.xml
  # States of MuJoCo and Pinocchio in our Python package, which an earlier stage has built.
  PYTHONPATH=$root/build/release/python build/venv-peers/bin/python -m pytest tests/python/test_convert.py -q \
    -p no:cacheprovider --junitxml=build/log/junit/convert.xml
}

# The sources for a GPU, by the compiler that the Python package index has; there is no GPU to run them on.
compile_cuda() {
  local nvcc nvrtc
  ensure_venv build/venv-cuda scripts/requirements-cuda.txt
  nvcc=$(find "$root/build/venv-cuda" -type f -name nvcc | head -n 1)
  [ "$nvcc" ] || fail "scripts/requirements-cuda.txt has installed no nvcc"
  mkdir -p build/cuda/include/touchstone
  ln -sfn "$root/src/gpu" build/cuda/include/touchstone/gpu
  find src/gpu/cuda -name '*.cu' -printf '%f\n' | sort | quietly cuda xargs -P "$jobs" -I{} "$nvcc" -std=c++20 -O3 \
    -arch=sm_90 --expt-relaxed-constexpr --use_fast_math -Werror all-warnings -Ibuild/cuda/include \
    -ptx src/gpu/cuda/{} -o build/cuda/{}.ptx
  nvrtc=$(find "$root/build/venv-cuda" -name 'libnvrtc.so.*' | head -n 1)
  [ "$nvrtc" ] || fail "scripts/requirements-cuda.txt has installed no NVRTC"
  TOUCHSTONE_NVRTC=$nvrtc quietly cuda-nvrtc build/release/bin/touchstone_test_gpu \
    --gtest_filter='SpecialModelTest.*ompile*'
  ! grep -q SKIPPED build/log/cuda-nvrtc.log || fail "NVRTC of scripts/requirements-cuda.txt does not load"
  echo "   skipped: tests on a device, for there is none"
}

test_long_properties() {
  TOUCHSTONE_LONG=1 run_ctest asan -R '^(dynamics|model)\.'
}

# Every robot for ten seconds at three time steps, and a million steps with random forces.
test_long_motion() {
  TOUCHSTONE_LONG=1 run_ctest release -R '^sim\..*(Robots|Soak)'
}

fuzz_seconds=60

# Every fuzz target for a minute, from its committed seeds; what it finds is kept in build/fuzz-corpus.
fuzz() {
  local target name corpus seeds
  configure fuzz
  build fuzz
  for target in build/fuzz/fuzz/*_fuzz; do
    [ -x "$target" ] || continue
    name=$(basename "$target")
    corpus=build/fuzz-corpus/$name
    mkdir -p "$corpus"
    set -- "$corpus"
    seeds=tests/fuzz/corpus/${name%_fuzz}
    [ ! -d "$seeds" ] || set -- "$corpus" "$seeds"
    echo "   $name"
    quietly "fuzz-$name" "$target" -max_total_time=$fuzz_seconds -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="build/log/$name-" "$@"
  done
}

# What a user builds and runs: tests, an installed library, Python, the page. $1: also the comparisons, if set.
test_release() {
  local peers=$1
  build_and_test "release (g++)" release
  [ "$built" ] || return 0
  stage "a project that uses the installed library" test_consumer
  stage "the Python package" test_python
  stage "the viewer in a browser" test_web
  if [ "$peers" ]; then stage "comparison with other engines" test_peers; fi
}

run_tests() {
  local filter='' all='' peers='' long=''
  while [ $# -gt 0 ]; do
    case "$1" in
      -k) filter=${2:?"-k needs a filter"} && shift ;;
      --all) all=1 ;;
      --peers) peers=1 ;;
      --long) all=1 && long=1 ;;
      *) fail "unknown option '$1'; see ./run help" ;;
    esac
    shift
  done
  ensure_packages "${build_packages[@]}"
  if [ "$filter" ]; then
    build_and_test "release (g++)" release -R "$filter"
    summary
    return
  fi
  if [ "$all" ]; then
    ensure_packages "${develop_packages[@]}"
    set_sanitizer_options
    lint_stages
  fi
  test_release "$peers"
  if [ "$all" ]; then
    stage "the sources for a GPU compile" compile_cuda
    stage "the benchmarks compile" build_for_tests release -DTOUCHSTONE_BUILD_BENCH=ON
    build_and_test "address and undefined-behaviour sanitizers (clang)" asan
  fi
  if [ "$long" ]; then
    stage "properties of 1,000 random models, with sanitizers" test_long_properties
    stage "robots for ten seconds, a million steps with random forces" test_long_motion
    stage "fuzzing, $fuzz_seconds s a target" fuzz
    build_and_test "thread sanitizer (clang)" tsan
  fi
  summary
}
