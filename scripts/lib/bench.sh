# shellcheck shell=bash
# Benchmarks, for ./run. NAME is bench/NAME/run.py if that exists, which may compare with other
# engines, or else the program of bench/NAME.cpp.

list_benchmarks() {
  local file
  for file in bench/*/run.py; do
    if [ -f "$file" ]; then basename "$(dirname "$file")"; fi
  done
  for file in bench/*.cpp; do
    if [ -f "$file" ]; then basename "$file" .cpp | sed 's/^bench_//'; fi
  done
}

# The peer of the benchmark fclib; it is of use to nothing else, and the benchmark does without.
ensure_siconos() {
  (ensure_packages libsiconos-numerics-dev) ||
    echo "run: no libsiconos-numerics-dev: bench fclib will show our own solvers alone" >&2
}

# Likewise that of the benchmark integrators.
ensure_ipopt() {
  (ensure_packages coinor-libipopt-dev) ||
    echo "run: no coinor-libipopt-dev: bench integrators will show our own integrators alone" >&2
}

# run_benchmarks [NAME...] [OPTION...]: options from the first that starts with "-" on go to the programs.
run_benchmarks() {
  local name names=() known peers=OFF
  while [ $# -gt 0 ] && [[ $1 != -* ]]; do
    names+=("$1")
    shift
  done
  mapfile -t known < <(list_benchmarks)
  [ ${#known[@]} -gt 0 ] || fail "there are no benchmarks in bench/"
  [ ${#names[@]} -gt 0 ] || names=("${known[@]}")
  for name in "${names[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] || fail "no benchmark '$name'; there are: ${known[*]}"
    if [ -f "bench/$name/run.py" ] && [ "$name" != python ]; then peers=ON; fi
  done

  ensure_packages "${build_packages[@]}"
  if [ $peers = ON ]; then ensure_venv build/venv-peers tests/peers/requirements.txt; fi
  if [[ " ${names[*]} " == *" fclib "* ]]; then ensure_siconos; fi
  if [[ " ${names[*]} " == *" integrators "* ]]; then ensure_ipopt; fi
  configure release -DTOUCHSTONE_BUILD_BENCH=ON -DTOUCHSTONE_PEERS=$peers
  build release
  export TOUCHSTONE_BUILD=$root/build/release
  for name in "${names[@]}"; do
    echo "== $name"
    if [ "$name" = python ]; then
      build_python
      PYTHONPATH=$root/build/release/python "$python_venv/bin/python" bench/python/run.py "$@"
    elif [ -f "bench/$name/run.py" ]; then
      build/venv-peers/bin/python "bench/$name/run.py" "$@"
    else
      "build/release/bin/bench_$name" "$@"
    fi
  done
}
