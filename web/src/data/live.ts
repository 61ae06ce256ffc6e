// The connection to a running simulation: commands go out, frames come in. The protocol is in docs/viewer.md.
import type { CertificateItem, ChannelInfo, SceneInfo, Vector } from "./document";
import { poseSize, type Contacts, type Frame, type Mark } from "./store";

export interface Range {
  value: number;
  minimum: number;
  maximum: number;
}

// What the server says about the simulation; what it leaves out cannot be chosen.
export interface LiveState {
  playing: boolean;
  speed: number;
  solvers?: string[];
  solver?: string;
  time_step?: Range;
  friction?: Range;
  controls?: number[];
  can_drag?: boolean;
}

export interface Hello {
  type: "hello";
  title: string;
  subtitle: string;
  scene: SceneInfo;
  channels: ChannelInfo[];
  state: LiveState;
}

export type Command =
  | { type: "play" | "pause" | "reset" | "release" }
  | { type: "step"; count: number }
  | { type: "speed" | "time_step" | "friction"; value: number }
  | { type: "solver"; name: string }
  | { type: "control"; index: number; value: number }
  | { type: "drag"; body: number; point: Vector; target: Vector };

export interface LiveEvents {
  hello(hello: Hello): void;
  state(state: LiveState): void;
  frame(decoded: Decoded): void;
  error(message: string): void;
  closed(): void;
}

interface FrameHeader {
  time: number;
  contacts: number;
  asleep?: number[];
  marks?: [number, number][]; // time, kind
  values: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  certificate: CertificateItem[];
}

const contactSize = 15;

// Length of the header, the header (JSON, padded to a multiple of four bytes), then 32-bit floats: poses and contacts.
export interface Decoded {
  frame: Frame;
  certificate: CertificateItem[];
  marks: Mark[]; // since the frame before
}

export function decodeFrame(message: ArrayBuffer, bodies: number): Decoded {
  const length = new DataView(message).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, length))) as FrameHeader;
  const numbers = new Float32Array(message, 4 + length);
  const poses = numbers.slice(0, bodies * poseSize);
  const count = header.contacts;
  let contacts: Contacts | null = null;
  if (count > 0) {
    contacts = {
      count,
      position: new Float32Array(3 * count),
      normal: new Float32Array(3 * count),
      force: new Float32Array(3 * count),
      distance: new Float32Array(count),
      friction: new Float32Array(count),
      labels: new Int32Array(4 * count),
    };
    for (let i = 0; i < count; ++i) {
      const row = numbers.subarray(bodies * poseSize + i * contactSize, bodies * poseSize + (i + 1) * contactSize);
      contacts.position.set(row.subarray(0, 3), 3 * i);
      contacts.normal.set(row.subarray(3, 6), 3 * i);
      contacts.force.set(row.subarray(6, 9), 3 * i);
      contacts.distance[i] = row[9]!;
      contacts.friction[i] = row[10]!;
      contacts.labels.set(row.subarray(11, 15), 4 * i);
    }
  }
  const row = (numbers: (number | null)[]): Float32Array => Float32Array.from(numbers, (value) => value ?? NaN);
  const values = row(header.values);
  const low = header.low ? row(header.low) : values;
  const high = header.high ? row(header.high) : values;
  const frame: Frame = { time: header.time, poses, contacts, values, low, high };
  if (header.asleep) frame.asleep = header.asleep;
  const marks = (header.marks ?? []).map(([time, kind]) => ({ time, kind: kind }));
  return { frame, certificate: header.certificate, marks };
}

const longestWait = 5000; // ms between attempts to connect again
const dragInterval = 16; // ms between two drags that are sent

export class LiveConnection {
  connected = false;
  private socket: WebSocket | null = null;
  private bodies = 0;
  private wait = 250;
  private drag: Command | null = null; // the newest that is not sent
  private dragTimer: ReturnType<typeof setTimeout> | null = null; // runs while the next drag has to wait

  constructor(
    private readonly address: string,
    private readonly events: LiveEvents,
  ) {
    this.connect();
  }

  // False if there is no connection. A mouse moves more often than a simulation can use: of drags that come in quick
  // succession the last one is always sent, and before any other command.
  send(command: Command): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    if (command.type === "drag") {
      this.drag = command;
      if (this.dragTimer === null) this.sendDrag();
    } else {
      this.sendDrag();
      this.socket.send(JSON.stringify(command));
    }
    return true;
  }

  private sendDrag(): void {
    if (!this.drag || this.socket?.readyState !== WebSocket.OPEN) return;
    this.socket.send(JSON.stringify(this.drag));
    this.drag = null;
    if (this.dragTimer !== null) clearTimeout(this.dragTimer);
    this.dragTimer = setTimeout(() => {
      this.dragTimer = null;
      this.sendDrag();
    }, dragInterval);
  }

  private connect(): void {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      this.receive(event.data);
    };
    socket.onclose = (event) => {
      this.connected = false;
      this.drag = null;
      if (event.reason) this.events.error(event.reason);
      this.events.closed();
      setTimeout(() => {
        this.connect();
      }, this.wait);
      this.wait = Math.min(2 * this.wait, longestWait);
    };
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      this.events.frame(decodeFrame(data, this.bodies));
      return;
    }
    const message = JSON.parse(data) as
      Hello | { type: "state"; state: LiveState } | { type: "error"; message: string };
    if (message.type === "hello") {
      this.bodies = message.scene.bodies.length;
      this.connected = true;
      this.wait = 250;
      this.events.hello(message);
    } else if (message.type === "state") {
      this.events.state(message.state);
    } else {
      this.events.error(message.message);
    }
  }
}
