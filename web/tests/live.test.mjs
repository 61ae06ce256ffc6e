// The live page: against the real server where the program is there, and against a pretended one.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, openPage, ready, stateOf } from "./browser.mjs";
import { frameMessage, poseAt, pretend } from "./pretended.mjs";
import { sceneOf } from "./synthetic.mjs";

const program = process.env.TOUCHSTONE_BUILD && join(process.env.TOUCHSTONE_BUILD, "bin", "touchstone");
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const skip = program ? false : "TOUCHSTONE_BUILD is not set";

// The program with a subject, and the address that it prints.
async function serve(...subject) {
  const server = spawn(program, ["view", ...subject, "--no-browser"]);
  const url = await new Promise((resolve, reject) => {
    server.on("exit", reject);
    server.stdout.on("data", (text) => resolve(/http:\/\/\S+/.exec(String(text))?.[0]));
  });
  return { server, url };
}

describe("with the real server", { skip }, () => {
  let server;
  let url;
  let view;
  before(async () => {
    ({ server, url } = await serve("quadruped:flat,drop=0.1", "--paused", "--token"));
    view = await openPage(browser);
    await view.page.goto(`${url}#quality=low`);
    await ready(view.page);
  });
  after(async () => {
    await view?.close();
    server?.kill("SIGTERM");
  });

  test("connects, quietly, to nobody else", async () => {
    const state = await stateOf(view.page);
    assert.equal(state.mode, "live");
    assert.equal(state.connected, true);
    assert.equal(state.playing, false);
    assert.equal(state.live.controls.length, 12);
    const { host } = new URL(url);
    assert.ok(
      view.requests.every((request) => new URL(request).host === host),
      view.requests.join(" "),
    );
    assert.match(url, /\?token=[0-9a-f]{32}$/);
    assert.deepEqual(view.problems, []);
  });

  test("steps, plays, pauses, looks back and resets", async () => {
    const { page } = view;
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => window.__touchstone.time > 0);
    assert.ok(Math.abs((await stateOf(page)).time - 0.002) < 1e-9);
    await page.keyboard.press(" ");
    await page.waitForFunction(() => window.__touchstone.time > 0.1);
    await page.keyboard.press(" ");
    await page.waitForFunction(() => !window.__touchstone.playing);
    const state = await stateOf(page);
    assert.ok(state.count > 3);
    const height = state.poses[7 + 2];
    await page.locator(".transport input[type=range]").fill("0");
    await page.waitForFunction(() => window.__touchstone.pinned);
    await page.waitForFunction((h) => window.__touchstone.state().poses[9] > h + 0.01, height); // it was higher: it falls
    assert.equal((await stateOf(page)).time, 0);
    await page.keyboard.press("End");
    assert.equal((await stateOf(page)).pinned, false);
    await page.keyboard.press("r");
    await page.waitForFunction(() => window.__touchstone.time === 0 && window.__touchstone.store.count === 1);
  });

  test("does the same with its buttons, at the chosen speed", async () => {
    const { page } = view;
    const button = (name) => page.getByRole("button", { name });
    await button("One step").click();
    await page.waitForFunction(() => window.__touchstone.time > 0);
    assert.ok(Math.abs((await stateOf(page)).time - 0.002) < 1e-9);
    await page.locator(".transport select").selectOption("0.25");
    await page.waitForFunction(() => window.__touchstone.live.speed === 0.25);
    await button("Play").click();
    await page.waitForFunction(() => window.__touchstone.live.playing && window.__touchstone.time > 0.02);
    await button("Pause").click();
    await page.waitForFunction(() => !window.__touchstone.live.playing);
    const { count } = await stateOf(page);
    await button("One frame back").click();
    assert.equal((await stateOf(page)).index, count - 2);
    await button("Go to the present").click();
    assert.equal((await stateOf(page)).pinned, false);
    await button("Reset").click();
    await page.waitForFunction(() => window.__touchstone.time === 0 && window.__touchstone.store.count === 1);
    await page.keyboard.press("]");
    await page.keyboard.press("]");
    await page.waitForFunction(() => window.__touchstone.live.speed === 1);
  });

  test("charts energy, residuals, iterations and the time of each stage, and certifies each frame", async () => {
    const { page } = view;
    const state = await stateOf(page);
    for (const chart of ["Energy", "Certificate", "Iterations", "Time of a step"]) {
      assert.ok(state.charts.includes(chart), `${chart} of ${state.charts}`);
    }
    const legend = await page.locator(".chart", { hasText: "Time of a step" }).locator(".legend").textContent();
    for (const stage of ["dynamics", "collision", "assembly", "solve"]) assert.match(legend, new RegExp(stage));
    await page.evaluate(() => window.__touchstone.send({ type: "step", count: 200 }));
    await page.waitForFunction(() => window.__touchstone.time > 0.39);
    const { certificate } = await stateOf(page);
    assert.ok(certificate.length >= 3);
    assert.ok(certificate.every((item) => item.passed && item.value <= item.limit));
    await page.keyboard.press("p");
    assert.match(await page.locator(".bar .badge.good").textContent(), /of \d checks/);
    assert.ok(await page.locator(".bar .badge.good").isVisible());
    await page.keyboard.press("p");
    await page.keyboard.press("r");
    await page.waitForFunction(() => window.__touchstone.time === 0);
  });

  test("sets controls and the time step", async () => {
    const { page } = view;
    await page.locator("[data-control='2']").fill("-2");
    await page.waitForFunction(() => Math.abs(window.__touchstone.live.controls[2] + 2) < 1e-9);
    await page.locator("[data-setting=time_step]").fill("0.001");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.__touchstone.live.time_step.value === 0.001);
    await page.locator("[data-setting=time_step]").fill("7");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".toast:not([hidden])");
    assert.match(await page.textContent(".toast"), /time step/);
    assert.equal((await stateOf(page)).live.time_step.value, 0.001);
    await page.evaluate(() => document.activeElement.blur());
  });

  test("pulls a body with the mouse", async () => {
    const { page } = view;
    const at = await page.evaluate(() => window.__touchstone.screenPosition(1));
    await page.keyboard.down("Shift");
    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    await page.mouse.move(at.x, at.y - 150, { steps: 5 });
    await page.evaluate(() => window.__touchstone.send({ type: "step", count: 400 }));
    await page.waitForFunction(() => window.__touchstone.time > 0.39);
    const { poses, selected } = await stateOf(page);
    await page.mouse.up();
    await page.keyboard.up("Shift");
    assert.equal(selected, 1);
    assert.ok(poses[7 + 2] > 0.45, `pulled up, the trunk is at ${poses[7 + 2]} m`); // standing, it is at 0.31 m
    assert.deepEqual(view.problems, []);
  });

  test("stands on the ground, with any solver and friction", async () => {
    const { page } = view;
    const step = async (count) => {
      const { time } = await stateOf(page);
      await page.evaluate((n) => window.__touchstone.send({ type: "step", count: n }), count);
      await page.waitForFunction((t) => window.__touchstone.time > t, time + 0.9e-3 * count);
      return stateOf(page);
    };
    await page.evaluate(() => window.__touchstone.send({ type: "control", index: 2, value: -1.5 }));
    await page.evaluate(() => window.__touchstone.send({ type: "reset" }));
    await page.waitForFunction(() => window.__touchstone.time === 0);
    const standing = await step(1000);
    assert.ok(standing.contacts >= 4, `${standing.contacts} contacts`);
    assert.ok(Math.abs(standing.poses[7 + 2] - 0.31) < 0.03, `the trunk is at ${standing.poses[7 + 2]} m`);
    for (const solver of ["ccp-admm", "lcp-pgs", "auto"]) {
      await page.locator("[data-setting=solver]").selectOption(solver);
      await page.waitForFunction((name) => window.__touchstone.live.solver === name, solver);
      const state = await step(50);
      assert.ok(state.contacts >= 4);
      assert.ok(Math.abs(state.poses[7 + 2] - standing.poses[7 + 2]) < 0.01, solver);
    }
    await page.locator("[data-setting=friction]").fill("0.05");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.__touchstone.live.friction.value === 0.05);
    assert.deepEqual(view.problems, []);
  });

  test("keeps the past when the connection breaks", async () => {
    const { page } = view;
    const { count } = await stateOf(page);
    server.kill("SIGTERM");
    await page.waitForFunction(() => !window.__touchstone.connected);
    await page.waitForSelector(".badge.disconnected");
    assert.equal((await stateOf(page)).count, count);
  });
});

test("friction that is changed while it runs acts as Coulomb's law says", { skip }, async () => {
  const { server, url } = await serve("cube-slide", "--paused", "--step", "0.001");
  const view = await openPage(browser);
  const { page } = view;
  await page.goto(`${url}#quality=low`);
  await ready(page);
  const run = async (friction) => {
    await page.locator("[data-setting=friction]").fill(String(friction));
    await page.keyboard.press("Enter");
    await page.waitForFunction((value) => window.__touchstone.live.friction.value === value, friction);
    const places = [];
    for (const time of [0.05, 0.1, 0.15]) {
      await page.evaluate(() => window.__touchstone.send({ type: "step", count: 50 }));
      await page.waitForFunction((t) => window.__touchstone.time > t, time - 1e-4);
      await page.evaluate(() => window.__touchstone.draw());
      places.push((await stateOf(page)).poses.slice(7, 9));
    }
    await page.evaluate(() => window.__touchstone.send({ type: "reset" }));
    await page.waitForFunction(() => window.__touchstone.time === 0);
    // The second difference of the positions is the acceleration.
    return Math.hypot(...[0, 1].map((k) => places[2][k] - 2 * places[1][k] + places[0][k])) / 0.05 ** 2;
  };
  for (const friction of [0.05, 0.3]) {
    const acceleration = await run(friction);
    assert.ok(Math.abs(acceleration - 9.81 * friction) < 0.02, `friction ${friction}: ${acceleration} m/s^2`);
  }
  assert.deepEqual(view.problems, []);
  await view.close();
  server.kill("SIGTERM");
});

test("a recording is a replay in the same page", { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "touchstone-web-"));
  const file = join(folder, "slide.h5");
  execFileSync(program, ["run", "cube-slide", "--time", "0.5", "--record", file, "-q"]);
  const { server, url } = await serve(file);
  const view = await openPage(browser);
  await view.page.goto(`${url}#quality=low&play=0`);
  await ready(view.page);
  const state = await stateOf(view.page);
  assert.equal(state.mode, "replay");
  assert.ok(state.count > 10 && Math.abs(state.end - 0.5) < 1e-9, `${state.count} frames until ${state.end} s`);
  assert.ok(state.charts.includes("Energy"));
  assert.ok(state.certificate.length > 0);
  assert.deepEqual(view.problems, []);
  await view.close();
  server.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

test("solver, friction and contacts of a simulator", async () => {
  const view = await openPage(browser);
  const { page } = view;
  const received = [];
  const state = {
    playing: false,
    speed: 1,
    solvers: ["ncp-admm", "lcp-pgs"],
    solver: "ncp-admm",
    friction: { value: 0.8, minimum: 0, maximum: 2 },
    controls: [0, 0],
    can_drag: true,
  };
  const channels = ["kinetic", "natv"].map((name) => ({ chart: name, name, unit: "", logarithmic: name === "natv" }));
  const answer = (message, send) => {
    received.push(message);
    if (message.type === "solver") state.solver = message.name;
    if (message.type === "friction") state.friction.value = message.value;
    send({ type: "state", state });
  };
  const live = await pretend(page, state, answer, sceneOf(3), channels);
  const contact = [0.1, 0, 0, 0, 0, 1, 0, 0, 9.81, -0.001, 0.5, 0, 1, 1, 0];
  for (const time of [0, 0.1, 0.2]) {
    const poses = [0, 1, 2, 3].map((i) => poseAt(0.3 * i, 0, 1 - time));
    live.send(frameMessage(time, poses, [contact], [time, null]));
  }
  await page.waitForFunction(() => window.__touchstone.time === 0.2);
  const shown = await stateOf(page);
  assert.equal(shown.count, 3);
  assert.equal(shown.contacts, 1);
  await page.locator("[data-setting=solver]").selectOption("lcp-pgs");
  await page.waitForFunction(() => window.__touchstone.live.solver === "lcp-pgs");
  await page.locator("[data-setting=friction]").fill("0.3");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => window.__touchstone.live.friction.value === 0.3);
  assert.deepEqual(received, [
    { type: "solver", name: "lcp-pgs" },
    { type: "friction", value: 0.3 },
  ]);
  assert.deepEqual(view.problems, []);
  await view.close();
});

test("however quickly the mouse moves, its last place is sent, and before any other command", async () => {
  const view = await openPage(browser);
  const { page } = view;
  const received = [];
  const state = { playing: false, speed: 1, can_drag: true };
  const answer = (message) => received.push(message);
  await pretend(page, state, answer);
  const drag = (z) => ({ type: "drag", body: 1, point: [0, 0, 0], target: [0, 0, z] });
  const sendAll = (commands) =>
    page.evaluate((all) => {
      for (const command of all) window.__touchstone.send(command);
    }, commands);
  const arrives = async (wanted) => {
    for (let i = 0; i < 1000 && !(received.length > 0 && wanted(received.at(-1))); ++i) await page.waitForTimeout(10);
  };
  const many = Array.from({ length: 100 }, (_, i) => drag(i));
  await sendAll(many);
  await arrives((message) => message.target[2] === 99); // nothing follows it
  assert.equal(received.at(-1).target[2], 99);
  assert.ok(received.length < 50, `${received.length} drags of 100`);
  received.length = 0;
  await sendAll([...many, { type: "step", count: 3 }, { type: "release" }]);
  await arrives((message) => message.type === "release");
  assert.deepEqual(received.slice(-3), [drag(99), { type: "step", count: 3 }, { type: "release" }]);
  await page.waitForTimeout(50);
  assert.equal(received.at(-1).type, "release"); // no drag comes after it
  assert.deepEqual(view.problems, []);
  await view.close();
});

test("the page holds one script and no address of elsewhere", () => {
  const html = readFileSync(new URL("../../build/web/viewer.html", import.meta.url), "utf8");
  assert.equal(html.match(/<script/g).length, 2); // the data and the code
  assert.doesNotMatch(html, /<(script|link|img)[^>]+(src|href)="(?!data:)/);
});
