// Replays made here, independently of the C++ writer: the format as docs/viewer.md describes it.
import { readFileSync } from "node:fs";
import { deflateSync } from "node:zlib";

const bundle = new URL("../../build/web/viewer.html", import.meta.url);
const arrays = {
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
};

export function pack(type, values, columns = 1, delta = false) {
  const rows = arrays[type].from(values);
  if (delta) for (let i = rows.length - 1; i >= columns; --i) rows[i] -= rows[i - columns];
  const bytes = new Uint8Array(rows.buffer);
  const width = rows.BYTES_PER_ELEMENT;
  const planes = new Uint8Array(bytes.length);
  for (let i = 0; i < rows.length; ++i) {
    for (let b = 0; b < width; ++b) planes[b * rows.length + i] = bytes[i * width + b];
  }
  return { type, count: rows.length, columns, delta, data: deflateSync(planes).toString("base64") };
}

export function pageWith(document) {
  const text = JSON.stringify(document).replaceAll("<", "\\u003c");
  return readFileSync(bundle, "utf8").replace('"touchstone-document"', () => text);
}

const identity = [0, 0, 0, 1, 0, 0, 0];

function body(name, mass = 1) {
  const moments = [0.4, 0.4, 0.4].map((m) => m * mass * 0.01);
  return {
    name,
    parent: 0,
    pose: identity,
    mass,
    moves: true,
    com: [0, 0, 0],
    inertia: { moments, axes: [1, 0, 0, 0] },
  };
}

function shape(bodyIndex, type, size, color) {
  return {
    name: "",
    body: bodyIndex,
    type,
    size,
    pose: identity,
    color: [...color, 1],
    group: 0,
    visual: true,
    collides: true,
    friction: 0.8,
  };
}

export function sceneOf(count) {
  const bodies = [{ name: "world", parent: -1, pose: identity, mass: 0, moves: false }];
  const shapes = [shape(0, "plane", [0, 0, 1], [0.5, 0.5, 0.5])];
  const kinds = ["box", "sphere", "capsule", "cylinder", "ellipsoid", "cone"];
  const sizes = [
    [0.1, 0.07, 0.05],
    [0.08, 0, 0],
    [0.05, 0.07, 0],
    [0.06, 0.08, 0],
    [0.1, 0.06, 0.05],
    [0.07, 0.09, 0],
  ];
  for (let i = 0; i < count; ++i) {
    bodies.push(body(`body ${i + 1}`));
    shapes.push(
      shape(i + 1, kinds[i % 6], sizes[i % 6], [0.35 + 0.5 * ((i * 0.37) % 1), 0.5, 0.3 + 0.6 * ((i * 0.73) % 1)]),
    );
  }
  return {
    name: "synthetic",
    dofs: 6 * count,
    gravity: [0, 0, -9.81],
    bodies,
    shapes,
    joints: [],
    controls: [{ name: "first", range: [-2, 3] }, { name: "second" }],
    meshes: [],
    height_fields: [],
  };
}

// Where body i (from 1) is at time t: a square tower of layers that settles.
export function position(i, t) {
  const layer = Math.floor((i - 1) / 25);
  const place = (i - 1) % 25;
  const fall = 0.3 * Math.max(0, 1 - t) * (layer + 1);
  return [0.25 * ((place % 5) - 2), 0.25 * (Math.floor(place / 5) - 2), 0.1 + 0.22 * layer + fall];
}

// `count` bodies, `frames` frames of 1/50 s; the lowest layer touches the ground in three modes.
export function replayOf(count, frames) {
  const scene = sceneOf(count);
  const times = [];
  const positions = [];
  const rotations = [];
  const starts = [0];
  const contact = { positions: [], normals: [], values: [], labels: [] };
  const energy = [];
  const residual = [];
  for (let f = 0; f < frames; ++f) {
    const t = f / 50;
    times.push(t);
    for (let b = 0; b <= count; ++b) {
      const p = b === 0 ? [0, 0, 0] : position(b, t);
      positions.push(...p.map((x) => Math.round(x / 1e-5)));
      const angle = b === 0 ? 0 : t * 0.3 * (b % 3);
      rotations.push(...[Math.cos(angle / 2), 0, 0, Math.sin(angle / 2)].map((x) => Math.round(32767 * x)));
    }
    const touching = Math.min(25, count);
    for (let i = 1; i <= touching; ++i) {
      const p = position(i, t);
      contact.positions.push(...[p[0], p[1], 0].map((x) => Math.round(x / 1e-5)));
      contact.normals.push(0, 0, 32767);
      contact.values.push(i % 3 === 2 ? 3 : 0, 0, i % 3 === 0 ? 0 : 9.81, -0.0001, 0.5);
      contact.labels.push(0, i, i % 3, i % 7);
    }
    starts.push(starts[f] + touching);
    energy.push(10 * Math.exp(-t));
    residual.push(10 ** -(3 + (f % 9)));
  }
  return {
    format: "touchstone-replay",
    version: 1,
    generator: "test",
    title: 'Tower </script><b>&"',
    subtitle: `${count} bodies`,
    scene,
    frames: {
      count: frames,
      times: pack("f64", times),
      position_quantum: 1e-5,
      positions: pack("i32", positions, 3 * (count + 1), true),
      rotations: pack("i16", rotations, 4 * (count + 1), true),
      contacts: {
        starts: pack("u32", starts, 1, true),
        positions: pack("i32", contact.positions, 3, true),
        normals: pack("i16", contact.normals, 3, true),
        values: pack("f32", contact.values, 5),
        labels: pack("i32", contact.labels, 4, true),
      },
      marks: { times: pack("f64", [0.105, 0.31, 0.5]), kinds: pack("u16", [1, 0, 2]) },
    },
    channels: [
      { chart: "Energy", name: "total", unit: "J", logarithmic: false, values: pack("f32", energy) },
      { chart: "Residual", name: "natv", unit: "m/s", logarithmic: true, values: pack("f32", residual) },
    ],
    certificate: [
      { name: "residual", meaning: "largest natv", value: 3e-9, limit: 1e-6, unit: "m/s", passed: true },
      { name: "penetration", meaning: "largest", value: 0.02, limit: 1e-3, unit: "m", passed: false },
    ],
  };
}
