// A live simulation that the tests play themselves: the page talks to a web socket that is answered here.
import { pageWith, sceneOf } from "./synthetic.mjs";

// A frame as the server writes it; a contact is 15 numbers (docs/viewer.md).
export function frameMessage(time, poses, contacts, values = []) {
  let header = JSON.stringify({ time, contacts: contacts.length, values, certificate: [] });
  header = header.padEnd(Math.ceil(header.length / 4) * 4);
  const numbers = Float32Array.from([...poses.flat(), ...contacts.flat()]);
  const length = new Uint8Array(Uint32Array.of(header.length).buffer);
  return Buffer.concat([length, Buffer.from(header), new Uint8Array(numbers.buffer)]);
}

export const poseAt = (x, y, z) => [x, y, z, 1, 0, 0, 0];

// `answer(message, send)` gets what the page sends; returns a function that sends to the page.
export async function pretend(page, state, answer, scene = sceneOf(3), channels = []) {
  let socket = null;
  const send = (message) => socket.send(Buffer.isBuffer(message) ? message : JSON.stringify(message));
  await page.route("http://viewer.test/", (route) =>
    route.fulfill({ contentType: "text/html", body: pageWith({ format: "touchstone-live", version: 1 }) }),
  );
  await page.routeWebSocket("ws://viewer.test/live", (opened) => {
    socket = opened;
    socket.onMessage((text) => answer(JSON.parse(text), send));
    send({ type: "hello", title: "Pretended", subtitle: "", scene, channels, state });
  });
  await page.goto("http://viewer.test/#quality=low");
  await page.waitForFunction(() => window.__touchstone?.renders > 0, null, { timeout: 30000 });
  return { send, close: () => socket.close() };
}
