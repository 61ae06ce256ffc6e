#!/usr/bin/env bash
# Everything that is measured and checked on a GPU, in one run of about six minutes on 16 cores.
#
#   bench/gpu/evidence.sh FOLDER OUT [CASES]
#
# FOLDER holds what export_models.py has written and, for the checks from Python, the package in FOLDER/site. CASES: the
# folder with the towers and slopes of check_physics.py. Lines of gpu_bench go to OUT/runs.jsonl. Each part has a time
# limit of its own and says how many seconds have passed.
set -u
cd "$(dirname "$0")/../.."
data=$(realpath "$1") out=$(realpath "$2") cases=${3:+$(realpath "$3")}
export PATH=/usr/local/cuda/bin:$PATH XDG_CACHE_HOME=$PWD/build/gpu/cache PYTHONUNBUFFERED=1
start=$(date +%s)
say() { echo "== $* ($(($(date +%s) - start)) s)"; }
fields='"(worlds|tolerance|steps_per_second|natv_p50|natv_p99|natv_worst|contacts|uncertified|lost|unreported|special)": [^,}]*'

# One line of figures.
measure() {
  local model=$1
  shift
  printf '%s %s: ' "$model" "$*"
  timeout 60 "$bench" "$data/$model.arrays" "$data/$model.states" --json "$out/runs.jsonl" "$@" 2>"$out/error.txt" |
    grep -oE "$fields" | tr -d '"' | tr '\n' ' '
  head -c 120 "$out/error.txt"
}

# The first step on the GPU, again, and on the processor.
compare() { timeout 60 "$bench" "$data/$1.arrays" "$data/$1.states" --compare --worlds 512 2>&1 | tail -n 1; }

# compute-sanitizer TOOL on a model's kernels; --specialise says which.
sanitize() {
  printf '%s %s %s: ' "$1" "$2" "$3"
  timeout 90 compute-sanitizer --tool "$1" "$bench" "$data/$2.arrays" "$data/$2.states" --worlds 512 --steps 1 \
    --hold 1 --warm-up 0 --specialise "$3" 2>&1 | grep -E "kernels|SUMMARY" | cut -c1-120 | tr '\n' ' '
  echo
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake -S bench/gpu -B build/gpu -DCMAKE_CUDA_ARCHITECTURES=90 -G Ninja >"$out/build.txt" 2>&1 &&
  cmake --build build/gpu -j"$(nproc)" >>"$out/build.txt" 2>&1 || { tail -n 30 "$out/build.txt"; exit 1; }
bench=build/gpu/gpu_bench
say built

models="humanoid cassie barkour barkour-field allegro-cube3 allegro-cube6 stewart digit-leg fourbar press"
for model in $models cassie-pass stewart-pass press-pass; do  # fills the cache of compiled kernels
  timeout 100 "$bench" "$data/$model.arrays" "$data/$model.states" --worlds 512 --steps 1 --hold 1 >/dev/null 2>&1 &
done
wait
say compiled
for model in $models cassie-pass stewart-pass press-pass; do compare "$model"; done
say compared
for model in $models; do
  for tolerance in 1e-3 1e-2; do measure "$model" --worlds 8192 --steps 500 --tolerance $tolerance; done
  measure "$model" --worlds 8192 --steps 100 --tolerance 1e-3 --most-sweeps 400
done
for model in cassie-pass stewart-pass press-pass; do measure "$model" --worlds 8192 --steps 250; done
for model in allegro-cube3 allegro-cube6 barkour-field stewart; do
  for worlds in 1024 32768; do measure "$model" --worlds $worlds --steps 100; done
done
say measured
if [ -d "$data/site" ]; then
  export PYTHONPATH=$data/site LD_LIBRARY_PATH=$data/site/lib:${LD_LIBRARY_PATH:-}
  export TOUCHSTONE_CUDA_LIBRARY=$PWD/build/gpu/libtouchstone_cuda.so
  timeout 90 python3 bench/gpu/check_python.py 2>&1 | tail -n 12
  say check_python
  [ -z "$cases" ] || timeout 90 python3 bench/gpu/check_physics.py "$cases" --seconds 2 2>&1 | tail -n 12
  say check_physics
fi
for model in stewart cassie humanoid; do sanitize racecheck $model auto; done
for model in stewart allegro-cube6 digit-leg; do sanitize memcheck $model auto; done
sanitize racecheck stewart-pass off
say all
