// Pages that must not mislead: the achieved speed beside the wanted one, what is readable on every screen, and fields that
// show what is true.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, openFile, openPage, stateOf } from "./browser.mjs";
import { frameMessage, poseAt, pretend } from "./pretended.mjs";
import { pageWith, replayOf } from "./synthetic.mjs";

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
const open = (html, options) => openFile(browser, folder, html, options);

describe("the achieved speed", () => {
  test("of a live simulation stands beside the wanted one", async () => {
    const view = await openPage(browser);
    const { page } = view;
    const state = { playing: true, speed: 1 };
    const live = await pretend(page, state, () => undefined);
    const poses = [0, 1, 2, 3].map((i) => poseAt(0.3 * i, 0, 0.1));
    let time = 0;
    // Sends frames at the rate until the page knows it.
    const play = async (rate, known) => {
      const start = performance.now();
      const from = time;
      for (let elapsed = 0; elapsed < 20; elapsed = (performance.now() - start) / 1000) {
        live.send(frameMessage((time = from + rate * elapsed), poses, []));
        await new Promise((resolve) => setTimeout(resolve, 30));
        const { achieved } = await stateOf(page);
        if (elapsed > 1.2 && known(achieved)) return;
      }
      assert.fail(`at ${rate} the page says ${await page.textContent(".rate")}`);
    };
    await play(0.25, (achieved) => Math.abs(achieved - 0.25) < 0.05);
    assert.match(await page.textContent(".rate"), /real 0\.\d+×/);
    assert.ok(await page.locator(".rate.slow").isVisible());
    assert.match(await page.getAttribute(".rate", "title"), /1 is wanted/);
    await play(1, (achieved) => Math.abs(achieved - 1) < 0.09);
    await page.waitForSelector(".rate:not(.slow)");
    // A simulation that says nothing any more is slow.
    await page.waitForTimeout(2500);
    assert.ok((await stateOf(page)).achieved < 0.6);
    state.playing = false;
    live.send({ type: "state", state });
    await page.waitForFunction(() => !window.__touchstone.playing);
    await page.waitForSelector(".rate", { state: "hidden" });
    assert.deepEqual(view.problems, []);
    await view.close();
  });

  test("of a replay is shown when drawing cannot keep up", async () => {
    const view = await open(pageWith(replayOf(3, 1000)));
    const { page } = view;
    await page.evaluate(() => {
      const app = window.__touchstone;
      const draw = app.draw.bind(app);
      app.draw = () => {
        const until = performance.now() + (window.burden ?? 0);
        while (performance.now() < until);
        draw();
      };
      window.burden = 1000;
      app.toggle();
    });
    await page.waitForSelector(".rate.slow:not([hidden])");
    const { achieved, speed } = await stateOf(page);
    assert.ok(achieved < 0.8 * speed, `${achieved} of ${speed}`);
    await page.evaluate(() => {
      window.burden = 0;
      window.__touchstone.setSpeed(0.5);
    });
    await page.waitForFunction(() => window.__touchstone.state().achieved > 0.4, null, { timeout: 10000 });
    await page.waitForSelector(".rate", { state: "hidden" });
    await view.close();
  });
});

describe("the page is readable", () => {
  const names = [
    ["cube", ""],
    [
      "quadruped:flat,drop=0.1 with a name",
      "A quadruped that drops onto flat ground from 0.1 m, with its controllers on",
    ],
    [
      "a_file_name_without_any_place_to_break_it_that_goes_on_and_on_for_a_hundred_characters_or_so.urdf",
      "x".repeat(300),
    ],
  ];
  const sizes = [
    [3840, 2160],
    [1920, 1080],
    [1024, 768],
    [761, 600],
    [568, 320],
    [390, 844],
    [320, 568],
  ];
  const boxes = (page) =>
    page.evaluate(() => {
      const box = (selector) => {
        const element = document.querySelector(selector);
        const { left, top, right, bottom } = element.getBoundingClientRect();
        const font = parseFloat(getComputedStyle(element).fontSize);
        const cut = element.scrollWidth > element.clientWidth + 1 && element.tagName !== "OUTPUT";
        return { left, top, right, bottom, font, cut, visible: element.checkVisibility() };
      };
      const list = ["h1", ".clock", ".bar", ".transport", ".badge.bad", ".transport select", ".panel"];
      return Object.fromEntries(list.map((selector) => [selector, box(selector)]));
    });

  for (const [title, subtitle] of names) {
    test(`with the title ${title.slice(0, 20)} on screens of every size`, async () => {
      const view = await open(pageWith({ ...replayOf(3, 5), title, subtitle }));
      for (const [width, height] of sizes) {
        await view.page.setViewportSize({ width, height });
        await view.page.evaluate((open) => window.__touchstone.togglePanel(open), width > 760);
        const seen = await boxes(view.page);
        const what = (selector) => `${selector} at ${width} x ${height}: ${JSON.stringify(seen[selector])}`;
        for (const selector of ["h1", ".clock", ".bar", ".transport", ".badge.bad", ".transport select"]) {
          const { left, top, right, bottom, visible } = seen[selector];
          assert.ok(visible && left >= 0 && top >= 0 && right <= width && bottom <= height, what(selector));
        }
        const smallest = Math.max(13, width / 160); // px
        for (const selector of ["h1", ".clock"]) assert.ok(seen[selector].font >= smallest, what(selector));
        assert.ok(!seen["h1"].cut && seen["h1"].right - seen["h1"].left >= Math.min(30, width / 4), what("h1"));
        if (title.length > 50) assert.ok(seen["h1"].right - seen["h1"].left >= Math.min(260, width / 2), what("h1"));
        if (seen[".panel"].visible) assert.ok(seen[".bar"].right <= seen[".panel"].left, what(".bar"));
      }
      assert.deepEqual(view.problems, []);
      await view.close();
    });
  }

  test("with the panel on a phone", async () => {
    const view = await open(pageWith(replayOf(3, 5)), { viewport: { width: 320, height: 640 } });
    await view.page.keyboard.press("p");
    const wide = await view.page.evaluate(() => {
      const panel = document.querySelector(".panel");
      return [panel.scrollWidth - panel.clientWidth, document.documentElement.scrollWidth - window.innerWidth];
    });
    assert.ok(wide[0] <= 0 && wide[1] <= 0, `${wide} px are outside`);
    await view.close();
  });
});

// What must hold of a report on a phone: nothing but its tables is wider than the screen, and those scroll.
async function scrolls(file) {
  const view = await openPage(browser, { viewport: { width: 320, height: 640 } });
  await view.page.goto(`file://${file}`);
  const { page, tables } = await view.page.evaluate(() => ({
    page: document.documentElement.scrollWidth,
    tables: [...document.querySelectorAll("table")].map((table) => {
      for (let box = table; box; box = box.parentElement) {
        if (box.scrollWidth > box.clientWidth) return getComputedStyle(box).overflowX;
      }
      return "fits";
    }),
  }));
  assert.ok(page <= 320, `the page is ${page} px wide`);
  assert.ok(tables.length > 0);
  assert.ok(
    tables.every((way) => way === "auto" || way === "fits"),
    tables.join(" "),
  );
  await view.close();
  return tables;
}

test("tables of the benchmarks' reports scroll on a phone", async () => {
  const bench = fileURLToPath(new URL("../../bench", import.meta.url));
  const head = execFileSync("python3", ["-c", "from look import *; print(f'{META}<style>{LOOK}</style>')"], {
    cwd: bench,
    encoding: "utf8",
  });
  const cells = Array.from({ length: 14 }, (_, i) => `<td>column${i}</td>`).join("");
  const file = join(folder, "bench.html");
  writeFileSync(
    file,
    `<!doctype html><html><head>${head}</head><body><h1>R</h1><table><tr>${cells}</tr></table></body>`,
  );
  assert.deepEqual(await scrolls(file), ["auto"]);
});

test("tables of the program's reports scroll on a phone", { skip: program ? false : "no program" }, async () => {
  const file = join(folder, "compare.html");
  execFileSync(program, ["compare", "cube-slide", "--time", "0.05", "--html", file]);
  assert.ok((await scrolls(file)).includes("auto"));
});

describe("a refused value springs back", () => {
  const state = () => ({
    playing: false,
    speed: 1,
    solvers: ["auto", "nbgs"],
    solver: "auto",
    time_step: { value: 0.002, minimum: 1e-5, maximum: 0.02 },
    friction: { value: 0.8, minimum: 0, maximum: 2 },
    controls: [0.5, 7],
    can_drag: true,
  });
  let view;
  let live;
  let sent;
  before(async () => {
    view = await openPage(browser);
    sent = [];
    live = await pretend(view.page, state(), (message, send) => {
      sent.push(message);
      send({ type: "error", message: `no: ${message.type}` });
    });
  });
  after(() => view?.close());

  const refused = async (why) => {
    await view.page.waitForFunction((text) => document.querySelector(".toast").textContent.includes(text), why);
    assert.ok(await view.page.locator(".toast").isVisible());
    await view.page.evaluate(() => (document.querySelector(".toast").textContent = ""));
  };

  test("in fields, lists, sliders and the speed", async () => {
    const { page } = view;
    for (const [name, wrong, right] of [
      ["time_step", "7", "0.002"],
      ["friction", "-1", "0.8"],
    ]) {
      await page.locator(`[data-setting=${name}]`).fill(wrong);
      await page.keyboard.press("Enter");
      await refused(name);
      assert.equal(await page.locator(`[data-setting=${name}]`).inputValue(), right);
    }
    await page.locator("[data-setting=solver]").selectOption("nbgs");
    await refused("solver");
    assert.equal(await page.locator("[data-setting=solver]").inputValue(), "auto");
    await page.locator("[data-control='0']").fill("-1.5");
    await refused("control");
    assert.equal(await page.locator("[data-control='0']").inputValue(), "0.5");
    assert.equal(await page.locator(".controls output").first().textContent(), "0.500");
    await page.locator(".transport select").selectOption("4");
    await refused("speed");
    await page.waitForFunction(() => document.querySelector(".transport select").value === "1");
    assert.equal(sent.length, 5);
  });

  test("when it is no number, or not sent at all", async () => {
    const { page } = view;
    await page.locator("[data-setting=friction]").fill("");
    await page.keyboard.press("Enter");
    await refused("no number; give one from 0 to 2");
    assert.equal(await page.locator("[data-setting=friction]").inputValue(), "0.8");
    assert.equal(sent.length, 5);
  });

  test("and a control beyond the slider is shown where it is", async () => {
    assert.equal(await view.page.locator("[data-control='1']").inputValue(), "7");
  });

  test("when nobody answers", async () => {
    const { page } = view;
    await page.unrouteAll();
    await live.close();
    await page.waitForFunction(() => !window.__touchstone.connected);
    await page.locator("[data-setting=friction]").fill("0.1");
    await page.keyboard.press("Enter");
    await refused("nothing was changed");
    assert.equal(await page.locator("[data-setting=friction]").inputValue(), "0.8");
  });
});
