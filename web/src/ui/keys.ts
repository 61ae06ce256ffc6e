// Keyboard shortcuts; ui/help.ts lists them.
import type { App } from "../app";
import type { Toggle } from "./panel";

const digits: Record<string, Toggle> = {
  "0": "hidden",
  "1": "visual",
  "2": "collision",
  "3": "contacts",
  "4": "forces",
  "5": "cones",
  "6": "frames",
  "7": "joints",
  "8": "inertia",
  "9": "islands",
  g: "ground",
  l: "loops",
};

export function bindKeys(app: App): void {
  const actions: Record<string, () => void> = {
    " ": () => {
      app.toggle();
    },
    arrowright: () => {
      app.step(1);
    },
    arrowleft: () => {
      app.step(-1);
    },
    ".": () => {
      app.step(1);
    },
    ",": () => {
      app.step(-1);
    },
    home: () => {
      app.seek(app.store.start);
    },
    end: () => {
      app.latest();
    },
    r: () => {
      app.reset();
    },
    "[": () => {
      app.changeSpeed(-1);
    },
    "]": () => {
      app.changeSpeed(1);
    },
    f: () => {
      app.toggleFollow();
    },
    z: () => {
      app.fit();
    },
    p: () => {
      app.togglePanel();
    },
    t: () => {
      app.toggleTheme();
    },
    "?": () => {
      app.toggleHelp();
    },
    escape: () => {
      app.closeOverlays();
    },
  };
  for (const [key, toggle] of Object.entries(digits)) {
    actions[key] = () => {
      app.toggleDisplay(toggle);
    };
  }
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    // Text fields and lists keep their keys; a focused button must not swallow space.
    if (target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type === "number")) return;
    const action = actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
