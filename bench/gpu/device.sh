#!/usr/bin/env bash
# Checks and measures the backend on a machine with a GPU that has nvcc, CMake, a C++ compiler and nothing else.
#
#   bench/gpu/export_models.py MODELS DATA --cases CASES     once, where the package runs: arrays and states (docs/gpu.md)
#   bench/gpu/device.sh DATA OUT [SECONDS]                   beside the GPU; SECONDS: of everything, 530 if not given
#
# DATA (10 MB) needs nothing but these sources beside it. Every result is a
# line of JSON in OUT/results.jsonl and on the terminal; what was said besides lies in OUT/log.txt. Parts, in this
# order, each of which is left out where its time would not suffice, and said so: build; GPU against lanes and itself
# (bits); towers, slopes, mechanisms and robots at rest; the same motion as lanes; speed and certificates, kernels
# compiled for the model and of tables; compute-sanitizer; a soak for the time that is left.
set -u
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "$2"
data=$(realpath "$1") out=$(realpath "$2") total=${3:-530}
export PATH=/usr/local/cuda/bin:$PATH XDG_CACHE_HOME=$PWD/build/gpu/cache
start=$(date +%s)
left() { echo $((total - $(date +%s) + start)); }

# Keeps a line of JSON, with what it is of.
keep() { echo "$1" | tee -a "$out/results.jsonl"; }
note() { keep "{\"note\": \"$*\", \"seconds\": $(($(date +%s) - start))}"; }

# within SECONDS COMMAND...: its output, if it fits into the time that is left; else a line that says it was left out.
within() {
  local most=$1 status
  shift
  if [ "$(left)" -lt 5 ]; then
    keep "{\"left_out\": \"${*//$data\//}\"}" >&2
    return
  fi
  [ "$most" -le "$(left)" ] || most=$(left)
  timeout "$most" "$@" 2>>"$out/log.txt"
  status=$?
  [ "$status" -eq 0 ] || keep "{\"failed\": \"${*//$data\//}\", \"status\": $status}" >&2
}

lines() { sed "s|$data/||" | tee -a "$out/results.jsonl"; }
bench() { within 60 "$programs/gpu_bench" "$data/$1.arrays" "$data/$1.states" "${@:2}" | lines; }
physics() { within "${limit:-60}" "$programs/gpu_physics" "$1" "$data/$2.arrays" "$data/$2.states" "${@:3}" | lines; }

# compute-sanitizer TOOL on a model's kernels; --specialise says which.
sanitize() {
  local found
  found=$(within 60 compute-sanitizer --tool "$1" "$programs/gpu_bench" "$data/$2.arrays" "$data/$2.states" --worlds 512 \
    --steps 1 --hold 1 --warm-up 0 --specialise "$3" | grep -E "SUMMARY" | cut -c1-120)
  keep "{\"sanitizer\": \"$1\", \"model\": \"$2\", \"specialise\": \"$3\", \"summary\": \"${found#* }\"}"
}

: >"$out/log.txt"
: >"$out/results.jsonl"
chip=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)
keep "{\"date\": \"$(date -u +%F)\", \"device\": \"$chip\", \"commit\": \"$(git rev-parse --short HEAD 2>/dev/null)\"}"
programs=build/gpu
generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
{ cmake -S bench/gpu -B "$programs" -DCMAKE_CUDA_ARCHITECTURES=90 "${generator[@]}" &&
  cmake --build "$programs" -j"$(nproc)"; } >"$out/build.txt" 2>&1 || { tail -n 30 "$out/build.txt"; exit 1; }
note built

robots="humanoid cassie barkour barkour-field allegro-cube3 allegro-cube6 stewart digit-leg fourbar press"
for model in $robots cassie-pass stewart-pass press-pass; do  # fills the cache of compiled kernels
  timeout 100 "$programs/gpu_bench" "$data/$model.arrays" "$data/$model.states" --worlds 512 --steps 1 --hold 1 \
    >/dev/null 2>&1 &
done
wait
note compiled

for model in $robots cassie-pass stewart-pass press-pass; do bench "$model" --compare --worlds 512; done
note compared

# Drift of the last half; deepest and loops_open in m. Towers are asked for tightly: by the defaults they creep.
tight="--tolerance 1e-6 --most-sweeps 4000 --worlds 32"
[ ! -f "$data/cards7.arrays" ] || physics rest cards7 --tolerance 1e-10 --most-sweeps 4000 --worlds 32 --seconds 2 --limit 1e-6
for case in tower10 tower10_rough mass1000_top slope_box_above cards2; do
  # shellcheck disable=SC2086  # words of $tight are arguments
  [ ! -f "$data/$case.arrays" ] || physics rest $case $tight --seconds 4 --limit 2e-4 --within 1e-3
done
for case in ring_connect ring_weld fourbar_slow fourbar_fast; do
  [ ! -f "$data/$case.arrays" ] || physics rest $case --worlds 32 --seconds 10
done
physics rest humanoid --worlds 1024 --seconds 60 --limit 1e-5 --within 2e-3
physics rest cassie --worlds 512 --seconds 30 --limit 1e-5 --within 2e-3
physics rest fourbar --worlds 512 --seconds 30 --limit 1e-4 --within 2e-3
note "looked at rest"

# Energy and Coulomb's law as on the processor, where tests hold them to the simulator's and to closed forms.
for case in slope_box_below rolling fourbar_slow chain chain-midpoint; do
  [ ! -f "$data/$case.arrays" ] || physics follow $case --worlds 32 --steps 500 --tolerance 1e-9 --most-sweeps 1000 --limit 1e-5
done
for case in press press-pass; do
  physics follow $case --worlds 64 --steps 500 --tolerance 1e-9 --most-sweeps 1000 --limit 1e-5
done
physics follow barkour --worlds 64 --steps 20 --tolerance 1e-6 --most-sweeps 1000 --limit 1e-4
note "followed lanes"

for model in $robots; do
  bench "$model" --worlds 8192 --steps 250 --tolerance 1e-3
  bench "$model" --worlds 8192 --steps 100 --tolerance 1e-3 --most-sweeps 400
done
for model in humanoid cassie barkour allegro-cube6; do  # what more sweeps of the second tier cost and give
  bench "$model" --worlds 8192 --steps 250 --tolerance 1e-3 --more-sweeps 48
done
for model in allegro-cube6 barkour-field; do bench "$model" --worlds 8192 --steps 250 --specialise off; done
for model in cassie-pass stewart-pass press-pass; do bench "$model" --worlds 8192 --steps 250; done
note measured

for model in allegro-cube6 fourbar press; do sanitize memcheck $model auto; done
sanitize racecheck allegro-cube6 auto
sanitize racecheck fourbar off
sanitize racecheck press-pass off
note sanitized

limit=$total  # a soak ends by itself
soak_time=$(($(left) - 10))
if [ "$soak_time" -gt 20 ]; then
  physics soak barkour --worlds 8192 --seconds $((soak_time / 2))
  physics soak allegro-cube6 --worlds 8192 --seconds $((soak_time / 4))
  physics soak fourbar --worlds 8192 --seconds $((soak_time / 4))
fi
note all
! grep -qE '"failed"|"passed": false|"same_bits": false' "$out/results.jsonl"
