// The self-contained page, opened from disk as a user does: it loads quietly, moves in time, and asks nobody.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, openPage, ready, stateOf } from "./browser.mjs";
import { pack, pageWith, position, replayOf } from "./synthetic.mjs";

const program = process.env.TOUCHSTONE_BUILD && join(process.env.TOUCHSTONE_BUILD, "bin", "touchstone");
let browser;
let folder;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "touchstone-web-"));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(name, html, wishes = "play=0&theme=light&quality=low") {
  const file = join(folder, name);
  if (html) writeFileSync(file, html);
  const opened = await openPage(browser);
  await opened.page.goto(`file://${file}#${wishes}`);
  await ready(opened.page);
  return opened;
}

const vectors = {
  length: (v) => Math.hypot(...v),
  minus: (a, b) => a.map((x, i) => x - b[i]),
};
const near = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

describe("a replay", () => {
  let view;
  before(async () => {
    view = await open("tower.html", pageWith(replayOf(50, 60)));
  });
  after(() => view?.close());

  test("loads without a complaint and without a request", async () => {
    const state = await stateOf(view.page);
    assert.equal(state.mode, "replay");
    assert.equal(state.count, 60);
    assert.equal(state.playing, false);
    assert.equal(state.contacts, 25);
    assert.deepEqual(view.problems, []);
    assert.ok(
      view.requests.every((url) => url.startsWith("file:") || url.startsWith("data:")),
      view.requests.join(" "),
    );
  });

  test("marks events on the time line, where they were", async () => {
    assert.equal((await stateOf(view.page)).marks, 3);
    assert.equal(
      await view.page.getAttribute(".timeline input", "title"),
      "1 change of contact, 1 impact, 1 step made by another rule",
    );
    // The columns of the picture that have any colour, as shares of the way of the slider's thumb.
    const places = await view.page.evaluate(() => {
      const canvas = document.querySelector(".marks");
      const { width, height, data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const inset = (7 * width) / canvas.clientWidth;
      const columns = [...Array(width).keys()].filter((x) =>
        [...Array(height).keys()].some((y) => data[4 * (y * width + x) + 3] > 128),
      );
      return columns.map((x) => (x + 0.5 - inset) / (width - 2 * inset));
    });
    for (const time of [0.105, 0.31, 0.5]) {
      const share = time / (59 / 50);
      assert.ok(
        places.some((x) => Math.abs(x - share) < 0.005),
        `${places} lack ${share}`,
      );
    }
    assert.ok(places.length <= 12, `${places}`);
  });

  test("shows titles as text, not as markup", async () => {
    assert.equal(await view.page.textContent("h1"), 'Tower </script><b>&"');
    assert.equal(await view.page.locator("h1 b").count(), 0);
  });

  test("puts bodies where the file says, also between frames", async () => {
    for (const time of [0, 0.5, 0.51, 1.18]) {
      await view.page.evaluate((t) => window.__touchstone.seek(t), time);
      await view.page.evaluate(() => window.__touchstone.draw());
      const { poses } = await stateOf(view.page);
      const expected = position(37, time);
      for (let k = 0; k < 3; ++k) near(poses[37 * 7 + k], expected[k], 2e-5);
      // Turning at 0.3 rad/s about z: body 37 has factor 37 % 3 = 1.
      near(2 * Math.atan2(poses[37 * 7 + 6], poses[37 * 7 + 3]), 0.3 * time, 1e-4);
    }
  });

  test("shows the contacts of the nearest frame", async () => {
    const shown = (time) =>
      view.page.evaluate((t) => window.__touchstone.store.interpolate(t, new Float32Array(357)), time);
    assert.equal(await shown(0.1 - 1e-12), 5);
    assert.equal(await shown(0.1), 5);
    assert.equal(await shown(0.108), 5);
    assert.equal(await shown(0.112), 6);
  });

  test("steps, scrubs and resets", async () => {
    await view.page.keyboard.press("Home");
    await view.page.keyboard.press("ArrowRight");
    await view.page.keyboard.press("ArrowRight");
    assert.equal((await stateOf(view.page)).index, 2);
    await view.page.keyboard.press("ArrowLeft");
    near((await stateOf(view.page)).time, 0.02, 1e-9);
    await view.page.locator(".transport input[type=range]").fill("5000");
    near((await stateOf(view.page)).time, 0.59, 1e-3);
    await view.page.keyboard.press("End");
    near((await stateOf(view.page)).time, 1.18, 1e-9);
    await view.page.keyboard.press("r");
    assert.equal((await stateOf(view.page)).time, 0);
  });

  test("plays at the chosen speed, pauses, and stops at the end", async () => {
    await view.page.locator(".transport select").selectOption("0.25");
    assert.equal((await stateOf(view.page)).speed, 0.25);
    await view.page.getByRole("button", { name: "Play" }).click();
    await view.page.waitForFunction(() => window.__touchstone.time > 0.05);
    assert.equal((await stateOf(view.page)).playing, true);
    await view.page.keyboard.press(" ");
    const { playing, time } = await stateOf(view.page);
    assert.equal(playing, false);
    await view.page.waitForTimeout(200);
    assert.equal((await stateOf(view.page)).time, time);
    await view.page.keyboard.press("]");
    assert.equal((await stateOf(view.page)).speed, 0.5);
    await view.page.evaluate(() => {
      window.__touchstone.setSpeed(10);
      window.__touchstone.toggle();
    });
    await view.page.waitForFunction(() => !window.__touchstone.playing);
    near((await stateOf(view.page)).time, 1.18, 1e-9);
  });

  test("selects the body under the mouse and says how it moves", async () => {
    await view.page.evaluate(() => {
      window.__touchstone.seek(0.5);
      window.__touchstone.draw();
    });
    // The topmost corner of the tower that faces the camera is hidden by nothing.
    const place = await view.page.evaluate(() => window.__touchstone.screenPosition(30));
    await view.page.mouse.click(place.x, place.y);
    assert.equal((await stateOf(view.page)).selected, 30);
    await view.page.waitForSelector(".selection:not([hidden])");
    const text = await view.page.textContent(".selection");
    assert.match(text, /body 30/);
    assert.match(text, /−0\.600 m\/s/); // the second layer falls at 0.6 m/s
    await view.page.keyboard.press("f");
    assert.equal((await stateOf(view.page)).followed, 30);
    await view.page.keyboard.press("Escape");
    assert.equal((await stateOf(view.page)).selected, -1);
  });

  test("toggles what is shown, by keys and by buttons", async () => {
    const before = (await stateOf(view.page)).toggles;
    for (const key of "0123456789gl") await view.page.keyboard.press(key);
    const flipped = (await stateOf(view.page)).toggles;
    for (const name of Object.keys(before)) assert.equal(flipped[name], !before[name], name);
    for (const key of "0l") await view.page.keyboard.press(key); // no buttons where nothing is hidden and no loops are
    const buttons = Object.keys(before).filter((name) => name !== "hidden" && name !== "loops");
    for (const name of buttons) await view.page.locator(`[data-toggle=${name}]`).click();
    assert.deepEqual((await stateOf(view.page)).toggles, before);
  });

  test("draws what the toggles ask for", async () => {
    const { page } = view;
    const shown = async () => {
      await page.evaluate(() => window.__touchstone.draw());
      return (await stateOf(page)).visible;
    };
    const before = await shown();
    assert.deepEqual(
      [before.visual, before.collision, before.ground, before.points, before.arrows, before.cones.length, before.boxes],
      [true, false, true, 25, 17, 0, 0], // every third contact has no force
    );
    for (const key of "1256789g") await page.keyboard.press(key);
    const after = await shown();
    assert.deepEqual([after.visual, after.collision, after.ground], [false, true, false]);
    assert.equal(after.sticks, 3 * 51); // three axes of each body and of the world
    assert.equal(after.boxes, 50);
    // Contact i (from 1) has mode i % 3: open, stick, slip.
    const modes = ["#7d8794", "#2f9e62", "#e0822a"];
    assert.deepEqual(
      after.cones,
      Array.from({ length: 25 }, (_, i) => modes[(i + 1) % 3]),
    );
    // The touching bodies have the colours of their islands (i % 7), the others their own.
    assert.equal(after.colors[1], after.colors[8]);
    assert.notEqual(after.colors[1], after.colors[2]);
    assert.notEqual(after.colors[1], before.colors[1]);
    assert.equal(after.colors[40], before.colors[40]);
    for (const key of "1256789g34") await page.keyboard.press(key);
    const bare = await shown();
    assert.deepEqual([bare.points, bare.arrows], [0, 0]);
    for (const key of "34") await page.keyboard.press(key);
    assert.deepEqual(await shown(), before);
  });

  test("orbits, pans, zooms, fits and follows", async () => {
    const { page } = view;
    const { length, minus } = vectors;
    const camera = async () => {
      await page.evaluate(() => window.__touchstone.stage.controls.update());
      return (await stateOf(page)).camera;
    };
    // Without gliding, so that a movement is over when the mouse is.
    await page.evaluate(() => (window.__touchstone.stage.controls.enableDamping = false));
    const drag = async (button) => {
      await page.mouse.move(300, 350);
      await page.mouse.down({ button });
      await page.mouse.move(380, 380, { steps: 4 });
      await page.mouse.up({ button });
      return camera();
    };
    const distance = ({ position, target }) => length(minus(position, target));
    await page.keyboard.press("z");
    const start = await camera();
    const orbited = await drag("left");
    assert.deepEqual(orbited.target, start.target);
    near(distance(orbited), distance(start), 1e-6);
    assert.ok(length(minus(orbited.position, start.position)) > 0.05 * distance(start));
    const panned = await drag("right");
    assert.ok(length(minus(panned.target, orbited.target)) > 0.01);
    near(length(minus(minus(panned.position, panned.target), minus(orbited.position, orbited.target))), 0, 1e-3);
    await page.mouse.wheel(0, 300);
    assert.ok(distance(await camera()) > 1.05 * distance(panned));
    await page.keyboard.press("z");
    near(length(minus((await camera()).target, start.target)), 0, 1e-6);
    for (const time of [0.2, 0.9]) {
      await page.evaluate((t) => {
        const app = window.__touchstone;
        if (app.followed !== 30) app.follow(30);
        app.seek(t);
        app.draw();
      }, time);
      const { target } = (await stateOf(page)).camera;
      near(length(minus(target, position(30, time))), 0, 1e-4);
    }
    await page.keyboard.press("z");
    assert.equal((await stateOf(page)).followed, -1);
    // With gliding, what is left of a movement does not spoil "show everything".
    await page.evaluate(() => (window.__touchstone.stage.controls.enableDamping = true));
    const fitted = await camera();
    await drag("right");
    await page.keyboard.press("z");
    await page.waitForTimeout(200);
    near(length(minus((await camera()).target, fitted.target)), 0, 1e-6);
  });

  test("has charts, and a click in one goes to that time", async () => {
    assert.deepEqual((await stateOf(view.page)).charts, ["Energy", "Residual"]);
    const box = await view.page.locator(".chart .plot").first().boundingBox();
    // The axis begins 46 px from the left and ends 8 px from the right.
    await view.page.mouse.click(box.x + 46 + 0.25 * (box.width - 54), box.y + 50);
    near((await stateOf(view.page)).time, 0.25 * 1.18, 0.01);
  });

  test("keeps a peak between two frames in its charts", async () => {
    const replay = replayOf(5, 60);
    const high = Array.from({ length: 60 }, (_, f) => (f === 30 ? 3.3 : 2));
    const values = pack("f32", Array(60).fill(2));
    replay.channels = [
      { chart: "Depth", name: "depth", unit: "mm", logarithmic: false, values, high: pack("f32", high) },
    ];
    const peak = await open("peak.html", pageWith(replay));
    // Rows of the chart's picture that the curve's colour reaches, by column.
    const heights = await peak.page.evaluate(() => {
      const canvas = document.querySelector(".chart canvas");
      const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const found = new Array(width).fill(0);
      for (let y = 0; y < height; ++y) {
        for (let x = 0; x < width; ++x) {
          const [r, g, b, a] = data.subarray(4 * (y * width + x), 4 * (y * width + x) + 4);
          if (a > 128 && b > r + 60 && b > g + 30) ++found[x];
        }
      }
      return found.map((count) => count / height);
    });
    const tallest = Math.max(...heights);
    assert.ok(tallest > 0.4, `the peak takes ${tallest} of the height`);
    near(heights.indexOf(tallest) / heights.length, 46 / 300 + ((30 / 59) * 246) / 300, 0.12);
    await peak.close();
  });

  test("has a certificate that stays, help, and two themes", async () => {
    assert.match(await view.page.textContent(".bar .badge.bad"), /1 of 2 failed/);
    await view.page.keyboard.press("p");
    assert.equal((await stateOf(view.page)).panel, false);
    assert.ok(await view.page.locator(".bar .badge.bad").isVisible());
    await view.page.keyboard.press("p");
    await view.page.keyboard.press("?");
    assert.ok(await view.page.getByRole("dialog").isVisible());
    await view.page.keyboard.press("Escape");
    assert.equal((await stateOf(view.page)).help, false);
    await view.page.keyboard.press("t");
    assert.equal(await view.page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.deepEqual(view.problems, []);
  });
});

test("a thousand bodies are a few draw calls", async () => {
  const view = await open("thousand.html", pageWith(replayOf(1000, 20)));
  const state = await stateOf(view.page);
  assert.ok(state.drawCalls < 40, `${state.drawCalls} draw calls`);
  // What the page itself does for a frame; drawing is the graphics card's part, which is missing here.
  const times = await view.page.evaluate(() => {
    const app = window.__touchstone;
    return Array.from({ length: 15 }, (_, i) => {
      const start = performance.now();
      app.moveBodies(app.store.start + i / 50);
      return performance.now() - start;
    }).sort((a, b) => a - b);
  });
  assert.ok(times[7] < 16, `moving the bodies takes ${times[7]} ms`);
  assert.deepEqual(view.problems, []);
  await view.close();
});

test("a film has a picture for every moment, of the size that was asked for", async () => {
  const view = await open(
    "film.html",
    pageWith(replayOf(5, 31)),
    "play=0&ui=0&theme=light&quality=low&film=10&size=320x180",
  );
  await view.page.waitForSelector("#film", { state: "attached" });
  const { start, end } = await view.page.evaluate(() => {
    const { store } = window.__touchstone;
    return { start: store.start, end: store.end };
  });
  const pictures = (await view.page.textContent("#film")).split("\n");
  assert.equal(pictures.length, Math.floor((end - start) * 10 + 1e-6) + 1);
  assert.ok(pictures.every((picture) => picture.startsWith("data:image/jpeg;base64,")));
  assert.notEqual(pictures[0], pictures.at(-1), "something moves");
  const size = await view.page.evaluate(async (picture) => {
    const image = new window.Image();
    image.src = picture;
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  }, pictures[0]);
  assert.deepEqual(size, [160, 90], "half of it at low quality");
  assert.deepEqual(view.problems, []);
  await view.close();
});

test("pictures and films of the program", { skip: program ? false : "TOUCHSTONE_BUILD is not set" }, () => {
  const picture = join(folder, "slide.png");
  execFileSync(program, ["view", "cube-slide", "--png", picture, "--at", "0.1"]);
  const bytes = readFileSync(picture);
  assert.equal(bytes.toString("latin1", 1, 4), "PNG");
  assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [1280, 800]);
  assert.ok(bytes.length > 10000, `an empty picture of ${bytes.length} bytes?`);
  if (spawnSync("ffmpeg", ["-version"]).error) return;
  const film = join(folder, "slide.mp4");
  execFileSync(program, ["view", "cube-slide", "--mp4", film, "--time", "0.1", "--fps", "20"]);
  assert.equal(readFileSync(film).toString("latin1", 4, 8), "ftyp");
});

test("a page without a document says so", async () => {
  const opened = await openPage(browser);
  await opened.page.goto(new URL("../../build/web/viewer.html", import.meta.url).href);
  await opened.page.waitForSelector("[role=alert]");
  assert.match(await opened.page.textContent("[role=alert]"), /touchstone view/);
  await opened.close();
});

test("a document of another version says so", async () => {
  const file = join(folder, "future.html");
  writeFileSync(file, pageWith({ ...replayOf(1, 2), version: 99 }));
  const opened = await openPage(browser);
  await opened.page.goto(`file://${file}`);
  await opened.page.waitForSelector("[role=alert]");
  assert.match(await opened.page.textContent("[role=alert]"), /version 1, not 99/);
  await opened.close();
});

test("the demo's replay", { skip: program ? false : "TOUCHSTONE_BUILD is not set" }, async () => {
  execFileSync(program, ["demo", "--out", join(folder, "demo.html")]);
  assert.ok(statSync(join(folder, "demo.html")).size < 5e6);
  const view = await open("demo.html", null, "play=0&t=3&theme=dark&quality=low");
  const state = await stateOf(view.page);
  assert.equal(state.count, 181);
  near(state.time, 3, 1e-9);
  assert.ok(state.contacts >= 3, `it stands on ${state.contacts} contacts`);
  near(state.poses[7 + 2], 0.34, 0.06); // the trunk above ground that is up to 8 cm high
  assert.match(await view.page.textContent(".bar .badge.good"), /4 of 4/);
  assert.deepEqual(view.problems, []);
  await view.close();
});
