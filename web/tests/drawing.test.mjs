// What is drawn and how large: collision shapes beside visuals, arrows of forces and their legend.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, openFile, openPage, stateOf } from "./browser.mjs";
import { frameMessage, poseAt, pretend } from "./pretended.mjs";
import { pack, pageWith, sceneOf } from "./synthetic.mjs";

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

// A replay of resting bodies: frames[f] is a list of contacts {at, force, normal, bodies}.
function replayWith(scene, poses, frames) {
  const contact = { positions: [], normals: [], values: [], labels: [] };
  const starts = [0];
  for (const contacts of frames) {
    for (const { at, force, normal = [0, 0, 1], bodies = [0, 1] } of contacts) {
      contact.positions.push(...at.map((x) => Math.round(x / 1e-5)));
      contact.normals.push(...normal.map((x) => Math.round(32767 * x)));
      contact.values.push(...force, 0, 0.5);
      contact.labels.push(...bodies, 1, 0);
    }
    starts.push(starts.at(-1) + contacts.length);
  }
  const positions = frames.flatMap(() => poses.flatMap((p) => p.map((x) => Math.round(x / 1e-5))));
  const rotations = frames.flatMap(() => poses.flatMap(() => [32767, 0, 0, 0]));
  return {
    format: "touchstone-replay",
    version: 1,
    title: "forces",
    subtitle: "",
    scene,
    frames: {
      count: frames.length,
      times: pack(
        "f64",
        frames.map((_, f) => f / 50),
      ),
      position_quantum: 1e-5,
      positions: pack("i32", positions, 3 * poses.length, true),
      rotations: pack("i16", rotations, 4 * poses.length, true),
      contacts: {
        starts: pack("u32", starts, 1, true),
        positions: pack("i32", contact.positions, 3, true),
        normals: pack("i16", contact.normals, 3, true),
        values: pack("f32", contact.values, 5),
        labels: pack("i32", contact.labels, 4, true),
      },
    },
    channels: [],
    certificate: [],
  };
}

describe("collision shapes", () => {
  // Each body has two shapes at one place; `kinds` says of both whether they are visual and collide.
  const sceneWith = (kinds) => {
    const scene = sceneOf(kinds.length);
    scene.shapes = kinds.flatMap((pair, i) =>
      pair.map(([visual, collides]) => ({ ...scene.shapes[i + 1], visual, collides, group: visual ? 1 : 3 })),
    );
    return scene;
  };
  const show = async (scene) => {
    const replay = replayWith(scene, [[0, 0, 0], ...scene.bodies.slice(1).map((_, i) => [i, 0, 0.1])], [[]]);
    return open(pageWith(replay));
  };
  const drawn = async (page) => {
    await page.evaluate(() => window.__touchstone.draw());
    return (await stateOf(page)).visible.shapes;
  };

  test("are not drawn over visuals unless they are asked for", async () => {
    const seen = [true, false];
    const hull = [false, true];
    // A box and a sphere are one part each.
    const view = await show(
      sceneWith([
        [seen, hull],
        [seen, hull],
      ]),
    );
    assert.equal(await drawn(view.page), 2);
    await view.page.keyboard.press("2");
    assert.equal(await drawn(view.page), 4);
    assert.ok(await view.page.locator("[data-toggle=hidden]").isHidden());
    await view.close();
  });

  test("are drawn of a mechanism of which nothing else would be seen", async () => {
    const view = await show(
      sceneWith([
        [
          [true, false],
          [false, true],
        ],
        [
          [false, true],
          [false, false],
        ],
      ]),
    );
    assert.equal(await drawn(view.page), 2); // the visual of the first, the hull of the second
    assert.ok(await view.page.locator("[data-toggle=hidden]").isVisible());
    await view.page.keyboard.press("0");
    assert.equal(await drawn(view.page), 3);
    await view.close();
  });
});

test("a mechanism without shapes is seen by its joints and masses", async () => {
  const scene = sceneOf(2);
  scene.shapes = [];
  scene.joints = [{ name: "j", type: "hinge", body: 2, anchor: [0, 0, 0], axis: [0, 1, 0] }];
  const poses = [
    [0, 0, 0],
    [40, 0, 0],
    [44, 0, 0],
  ];
  const view = await open(pageWith(replayWith(scene, poses, [[], []])));
  const { visible, camera } = await stateOf(view.page);
  assert.deepEqual([visible.boxes, visible.sticks], [2, 1]);
  assert.ok(Math.abs(camera.target[0] - 42) < 1e-3, `the camera looks at ${camera.target}`);
  await view.close();
});

describe("arrows of forces", () => {
  const weight = 9.81;
  // Where the tips and tails of the arrows are in the window, and their lengths in metres.
  const arrows = (page) =>
    page.evaluate(() => {
      const app = window.__touchstone;
      app.draw();
      const { drawn, cut } = app.overlays;
      const { metresPerNewton, longest } = app.forceScale;
      const at = (p) => {
        const v = app.stage.controls.target
          .clone()
          .set(...p)
          .project(app.stage.camera);
        return [((v.x + 1) / 2) * window.innerWidth, ((1 - v.y) / 2) * window.innerHeight];
      };
      const list = Array.from({ length: drawn.count }, (_, i) => {
        const force = [...drawn.force.slice(3 * i, 3 * i + 3)];
        const tail = [...drawn.position.slice(3 * i, 3 * i + 3)];
        const size = Math.hypot(...force);
        const length = Math.min(longest, size * metresPerNewton);
        return { size, length, tip: at(tail.map((x, k) => x + (force[k] / size) * length)), tail: at(tail) };
      });
      return { list, cut, all: drawn.all, patches: drawn.patches, radius: app.extent, longest };
    });

  test("are as long as their legend says", async () => {
    const scene = sceneOf(2);
    // The camera looks at the middle of the bodies: a force there is seen at the legend's distance.
    const poses = [
      [0, 0, 0],
      [-0.3, 0, 0.2],
      [0.3, 0, 0.2],
    ];
    for (const newtons of [3e-4, 0.7, 25, 4e6]) {
      const frames = Array.from({ length: 5 }, () => [{ at: [0, 0, 0.2], force: [0, 0, newtons] }]);
      const view = await open(pageWith(replayWith(scene, poses, frames)));
      const { list, cut } = await arrows(view.page);
      assert.equal(list.length, 1);
      assert.equal(cut, 0);
      const legend = await view.page.evaluate(() => {
        const prefix = { µN: 1e-6, mN: 1e-3, N: 1, kN: 1e3, MN: 1e6 };
        const [value, unit] = document.querySelector(".forces b").textContent.split(" ");
        return {
          newtons: Number(value) * prefix[unit],
          pixels: document.querySelector(".forces svg").getBoundingClientRect().width,
        };
      });
      assert.ok(legend.pixels > 20 && legend.pixels < 120, `${legend.pixels} px`);
      // Seen at an angle, and nearer at one end: compare lengths across the line of sight.
      const perMetre = await view.page.evaluate(() => window.__touchstone.stage.pixelsPerMetre);
      const expected = (list[0].length * perMetre) / list[0].size;
      assert.ok(Math.abs(legend.pixels / legend.newtons / expected - 1) < 0.01, `${newtons} N`);
      assert.deepEqual(view.problems, []);
      await view.close();
    }
  });

  test("keep their scale through a replay, whatever an impact does", async () => {
    const scene = sceneOf(1);
    const forces = [9.8, 9.9, 5000, 9.7, 9.8, 9.8, 1e-6, 9.8];
    const frames = forces.map((force) => [{ at: [0, 0, 0], force: [0, 0, force] }]);
    const view = await open(
      pageWith(
        replayWith(
          scene,
          [
            [0, 0, 0],
            [0, 0, 0.05],
          ],
          frames,
        ),
      ),
    );
    const seen = [];
    for (let f = 0; f < forces.length; ++f) {
      await view.page.evaluate((t) => window.__touchstone.seek(t), f / 50);
      const { list, cut, radius } = await arrows(view.page);
      seen.push(list[0].length / forces[f]);
      assert.equal(cut, forces[f] > 100 ? 1 : 0);
      assert.ok(list[0].length <= radius, `${list[0].length} m in a scene of ${radius} m`);
      if (cut > 0) assert.match(await view.page.textContent(".forces"), /two heads: more than \d+(\.\d+)? N, 1 cut/);
    }
    for (const f of [1, 3, 6]) assert.ok(Math.abs(seen[f] / seen[0] - 1) < 1e-3, `${seen[f]} m/N is not ${seen[0]}`);
    await view.close();
  });

  test("stay in the window, in scenes of any size and with any forces", async () => {
    let seed = 7;
    const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    for (const [size, most] of [
      [0.02, 1e3],
      [1, 1],
      [40, 1e7],
    ]) {
      const scene = sceneOf(8);
      for (const shape of scene.shapes) shape.size = shape.size.map((s) => s * size);
      const poses = [[0, 0, 0]];
      for (let i = 0; i < 8; ++i) poses.push([0, 1, 2].map(() => size * 0.4 * (random() - 0.5)));
      const contacts = Array.from({ length: 30 }, () => {
        const force = [0, 1, 2].map(() => most * random() ** 6 * (random() - 0.5));
        return { at: poses[1 + Math.floor(8 * random())], force };
      });
      const view = await open(pageWith(replayWith(scene, poses, [contacts, contacts])));
      const { list } = await arrows(view.page);
      assert.equal(list.length, 30);
      for (const { tip } of list) {
        assert.ok(tip[0] > 0 && tip[0] < 1100 && tip[1] > 0 && tip[1] < 700, `a tip at ${tip} of 1100 x 700`);
      }
      await view.close();
    }
  });

  test("are thinned out where there are very many", async () => {
    const count = 300;
    const scene = sceneOf(count);
    const poses = [[0, 0, 0]];
    for (let i = 0; i < count; ++i) poses.push([0.3 * (i % 20), 0.3 * Math.floor(i / 20), 0.05]);
    // Each body stands on four corners and is held by two sides that cancel.
    const contacts = (n) =>
      poses
        .slice(1, 1 + n)
        .flatMap(([x, y], i) => [
          ...[-1, 1].flatMap((a) =>
            [-1, 1].map((b) => ({ at: [x + 0.1 * a, y + 0.1 * b, 0], force: [0, 0, weight / 4], bodies: [0, i + 1] })),
          ),
          { at: [x - 0.1, y, 0], force: [i + 1, 0, 0], normal: [1, 0, 0], bodies: [0, i + 1] },
          { at: [x + 0.1, y, 0], force: [-(i + 1), 0, 0], normal: [-1, 0, 0], bodies: [0, i + 1] },
        ]);
    const few = await open(pageWith(replayWith(scene, poses, [contacts(5), contacts(5)])));
    const seen = await arrows(few.page);
    assert.deepEqual([seen.list.length, seen.patches], [30, false]);
    assert.equal(await few.page.locator(".forces small").count(), 1); // nothing is left out, nothing is cut
    await few.close();

    const many = await open(pageWith(replayWith(scene, poses, [contacts(count), contacts(3)])));
    const { list, all, patches } = await arrows(many.page);
    assert.deepEqual([list.length, all, patches], [400, 900, true]);
    // The strongest, and opposite forces of one pair are not added up.
    assert.equal(Math.max(...list.map(({ size }) => size)), 300);
    assert.ok(Math.min(...list.map(({ size }) => size)) > 100);
    const text = await many.page.textContent(".forces");
    assert.match(text, /one arrow for each patch of contacts/);
    assert.match(text, /the 400 strongest of 900/);
    // With fewer contacts a moment later it is patches still: the sum of four corners.
    await many.page.evaluate(() => window.__touchstone.seek(1 / 50));
    const later = await arrows(many.page);
    assert.equal(later.list.length, 9);
    assert.ok(later.list.some(({ size }) => Math.abs(size - weight) < 1e-3));
    await many.close();
  });

  test("are seen faintly behind bodies", async () => {
    const scene = sceneOf(1);
    scene.shapes[1] = { ...scene.shapes[1], type: "box", size: [0.2, 0.2, 0.2], color: [0.5, 0.5, 0.5, 1] };
    const inside = { at: [0, 0, 0.1], force: [0, 0, weight] };
    const outside = { at: [0.28, -0.4, 0.1], force: [0, 0, weight] };
    const view = await open(
      pageWith(
        replayWith(
          scene,
          [
            [0, 0, 0],
            [0, 0, 0.2],
          ],
          [[inside], [outside]],
        ),
      ),
      {
        wishes: "play=0&theme=light",
      },
    );
    // How far the forces move a pixel towards their colour, at most.
    const strength = async (time) => {
      const pictures = await view.page.evaluate((t) => {
        const app = window.__touchstone;
        app.seek(t);
        if (app.toggles.contacts) app.toggleDisplay("contacts");
        return [true, false].map((on) => {
          if (app.toggles.forces !== on) app.toggleDisplay("forces");
          app.draw();
          return app.stage.renderer.domElement.toDataURL("image/png");
        });
      }, time);
      return view.page.evaluate(async (urls) => {
        const pixels = await Promise.all(
          urls.map(async (url) => {
            const image = new window.Image();
            image.src = url;
            await image.decode();
            const canvas = document.createElement("canvas");
            canvas.width = image.width;
            canvas.height = image.height;
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, image.width, image.height).data;
          }),
        );
        let most = 0;
        for (let i = 0; i < pixels[0].length; i += 4) {
          most = Math.max(most, Math.abs(pixels[0][i + 1] - pixels[1][i + 1])); // green: the arrows have little
        }
        return most;
      }, pictures);
    };
    const behind = await strength(0);
    const before = await strength(1 / 50);
    assert.ok(behind > 10, `behind a body the picture changes by ${behind} of 255`);
    assert.ok(behind < 0.6 * before, `${behind} behind a body, ${before} before all`);
    await view.close();
  });

  test("of a live view keep their scale until the forces are others for long", async () => {
    const view = await openPage(browser);
    const poses = [poseAt(0, 0, 0), poseAt(-0.3, 0, 0.1), poseAt(0, 0, 0.1), poseAt(0.3, 0, 0.1)];
    const contact = (force) => [0, 0, 0, 0, 0, 1, 0, 0, force, 0, 0.5, 0, 1, 1, 0];
    const live = await pretend(view.page, { playing: true, speed: 1 }, () => undefined);
    let time = 0;
    const send = async (forces) => {
      for (const force of forces) live.send(frameMessage((time += 0.01), poses, [contact(force)]));
      await view.page.waitForFunction((t) => window.__touchstone.store.end >= t, time);
      await view.page.waitForTimeout(100);
      await view.page.waitForFunction(() => !window.__touchstone.forceScale.glide(1));
      return view.page.evaluate(() => window.__touchstone.forceScale.metresPerNewton);
    };
    const settled = await send(Array(60).fill(weight));
    const noisy = await send(Array.from({ length: 60 }, (_, i) => weight * (1 + 0.9 * Math.sin(i)) + (i === 20) * 1e5));
    assert.equal(noisy, settled);
    const heavier = await send(Array(130).fill(100 * weight));
    assert.ok(heavier < settled / 20, `${heavier} m/N, once ${settled}`);
    assert.deepEqual(view.problems, []);
    await view.close();
  });

  test("have their legend in pictures without a page too", async () => {
    const scene = sceneOf(1);
    const frame = [{ at: [0, 0, 0], force: [0, 0, weight] }];
    const html = pageWith(
      replayWith(
        scene,
        [
          [0, 0, 0],
          [0, 0, 0.05],
        ],
        [frame, frame],
      ),
    );
    const view = await open(html, { wishes: "play=0&theme=light&ui=0" });
    assert.ok(await view.page.locator(".forces").isVisible());
    assert.ok(await view.page.locator(".transport").isHidden());
    const differ = await view.page.evaluate(async () => {
      const app = window.__touchstone;
      const picture = app.picture("image/png");
      const plain = app.stage.renderer.domElement.toDataURL("image/png");
      return picture !== plain;
    });
    assert.ok(differ);
    await view.close();
  });
});

test("joints that close loops are drawn, and coloured by how far they are open", async () => {
  const scene = sceneOf(2);
  const at = (x, y, z) => [x, y, z, 1, 0, 0, 0];
  const loop = { active: true, a: 1, b: 2, held: [true, true, true], turn: "none" };
  const turned = [0.5, 0, 0, Math.SQRT1_2, Math.SQRT1_2, 0, 0]; // a right angle about x
  const slanted = [0.5, 0, 0, Math.cos(Math.PI / 8), 0, Math.sin(Math.PI / 8), 0]; // half a one about y
  const screw = { type: "screw", held: [true, true, false], turn: "axis", pitch: 0.1, frame_a: at(0.5, 0, 0) };
  scene.loops = [
    { ...loop, name: "closed", type: "connect", frame_a: at(0.5, 0, 0), frame_b: at(-0.5, 0, 0) },
    { ...loop, name: "open", type: "connect", frame_a: at(0.5, 0, 0.1), frame_b: at(-0.5, 0, 0) },
    { ...loop, name: "off", type: "connect", active: false, frame_a: at(0, 0, 0), frame_b: at(0, 0, 0) },
    // Along its axis a slide may be anywhere.
    {
      ...loop,
      name: "slide",
      type: "prismatic",
      held: [true, true, false],
      turn: "all",
      frame_a: at(0.5, 0, 0.4),
      frame_b: at(-0.5, 0, 0),
    },
    { ...loop, name: "tilted", type: "revolute", turn: "axis", frame_a: turned, frame_b: at(-0.5, 0, 0) },
    // z of the first frame and x of the second one enclose half a right angle, then a whole one.
    { ...loop, name: "bent", type: "universal", turn: "square", frame_a: slanted, frame_b: at(-0.5, 0, 0) },
    { ...loop, name: "square", type: "universal", turn: "square", frame_a: at(0.5, 0, 0), frame_b: at(-0.5, 0, 0) },
    // A quarter of a turn is 0.157 m of the way; the nut that was turned and has not moved is out of step.
    { ...loop, ...screw, name: "ahead", frame_b: [-0.5, 0, 0, Math.SQRT1_2, 0, 0, Math.SQRT1_2] },
    { ...loop, ...screw, name: "nut", frame_b: [-0.5, 0, 0.05 * Math.PI, Math.SQRT1_2, 0, 0, Math.SQRT1_2] },
    { ...loop, ...screw, name: "a turn further", frame_b: at(-0.5, 0, 0.2 * Math.PI) },
    {
      ...loop,
      name: "rod",
      type: "distance",
      held: [false, false, false],
      length: 1,
      frame_a: at(0, 0, 0),
      frame_b: at(0, 0, 0),
    },
  ];
  const poses = [
    [0, 0, 0],
    [0, 0, 0.5],
    [1, 0, 0.5],
  ];
  const view = await open(pageWith(replayWith(scene, poses, [[]])));
  const visible = async () => {
    await view.page.evaluate(() => window.__touchstone.draw());
    return (await stateOf(view.page)).visible;
  };
  const { pivots, sticks } = await visible();
  const [green, red, grey] = ["#2f9e62", "#d2332e", "#7d8794"];
  assert.deepEqual(pivots, [green, red, grey, green, red, red, green, red, green, green, green]);
  // open: a line; off: a line; slide: axis and a line; tilted: axis; screws: three axes and two lines; rod
  assert.equal(sticks, 11);
  await view.page.keyboard.press("l");
  assert.equal((await visible()).pivots.length, 0);
  assert.deepEqual(view.problems, []);
  await view.close();
});
