// A replay document becomes frames.
import type { ReplayDocument } from "./document";
import { FrameStore, poseSize, type Contacts, type Frame } from "./store";
import { unpack, type Numbers } from "./unpack";

interface PackedContacts {
  starts: Numbers;
  positions: Numbers;
  normals: Numbers;
  values: Numbers;
  labels: Numbers;
}

function contactsOf(all: PackedContacts, quantum: number, from: number, to: number): Contacts {
  const count = to - from;
  const contacts: Contacts = {
    count,
    position: new Float32Array(3 * count),
    normal: new Float32Array(3 * count),
    force: new Float32Array(3 * count),
    distance: new Float32Array(count),
    friction: new Float32Array(count),
    labels: Int32Array.from(all.labels.subarray(4 * from, 4 * to)),
  };
  for (let i = 0; i < count; ++i) {
    const j = from + i;
    for (let k = 0; k < 3; ++k) {
      contacts.position[3 * i + k] = quantum * all.positions[3 * j + k]!;
      contacts.normal[3 * i + k] = all.normals[3 * j + k]! / 32767;
      contacts.force[3 * i + k] = all.values[5 * j + k]!;
    }
    contacts.distance[i] = all.values[5 * j + 3]!;
    contacts.friction[i] = all.values[5 * j + 4]!;
  }
  return contacts;
}

export async function readReplay(replay: ReplayDocument): Promise<FrameStore> {
  if (replay.version !== 1) {
    throw new Error(
      `this page reads replays of version 1, not ${replay.version}; use the page that came with the file`,
    );
  }
  const bodies = replay.scene.bodies.length;
  const store = new FrameStore(bodies, replay.channels);
  const { count, times, positions, rotations, contacts, asleep, marks } = replay.frames;
  if (count === 0 || !times || !positions || !rotations) return store;
  const quantum = replay.frames.position_quantum ?? 1;
  const [t, p, q, ...channels] = await Promise.all([
    unpack(times),
    unpack(positions),
    unpack(rotations),
    ...replay.channels.map((channel) => unpack(channel.values)),
  ]);
  const lows = await Promise.all(replay.channels.map((channel) => unpack(channel.low ?? channel.values)));
  const highs = await Promise.all(replay.channels.map((channel) => unpack(channel.high ?? channel.values)));
  let packed: PackedContacts | null = null;
  if (contacts) {
    const [starts, ...rest] = await Promise.all(
      [contacts.starts, contacts.positions, contacts.normals, contacts.values, contacts.labels].map(unpack),
    );
    packed = { starts: starts!, positions: rest[0]!, normals: rest[1]!, values: rest[2]!, labels: rest[3]! };
  }

  const sleepers = asleep ? await Promise.all([unpack(asleep.starts), unpack(asleep.bodies)]) : null;

  const marked = marks ? await Promise.all([unpack(marks.times), unpack(marks.kinds)]) : null;
  marked?.[0].forEach((time, i) => store.marks.push({ time, kind: marked[1][i]! }));

  for (let f = 0; f < count; ++f) {
    const poses = new Float32Array(bodies * poseSize);
    for (let b = 0; b < bodies; ++b) {
      for (let k = 0; k < 3; ++k) poses[b * poseSize + k] = quantum * p[(f * bodies + b) * 3 + k]!;
      for (let k = 0; k < 4; ++k) poses[b * poseSize + 3 + k] = q[(f * bodies + b) * 4 + k]! / 32767;
    }
    const frame: Frame = {
      time: t[f]!,
      poses,
      contacts: packed ? contactsOf(packed, quantum, packed.starts[f]!, packed.starts[f + 1]!) : null,
      values: Float32Array.from(channels, (values) => values[f]!),
      low: Float32Array.from(lows, (values) => values[f]!),
      high: Float32Array.from(highs, (values) => values[f]!),
    };
    if (sleepers) frame.asleep = sleepers[1].subarray(sleepers[0][f], sleepers[0][f + 1]);
    store.frames.push(frame);
  }
  ++store.version;
  return store;
}
