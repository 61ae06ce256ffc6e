// Pictures for whoever reads the document: the address asks for so many a second of the replay (film=30) or for the one
// of the time that is shown (still=1), and a list of them, one data URL a line, becomes a part of the page. `touchstone
// view --mp4` and `--png` read it from a browser without a window.
import type { App } from "./app";
import { el } from "./ui/dom";

const quality = 0.92; // of the JPEG pictures

// `size` is "1280x720", in pixels; without it the pictures have the window's.
function resize(app: App, size: string | null): void {
  const [width, height] = (size ?? "").split("x").map(Number);
  if (width && height) app.resize(width, height);
}

function write(pictures: string[]): void {
  document.body.append(el("pre", { id: "film", hidden: true }, pictures.join("\n")));
}

export function writeFilm(app: App, rate: number, size: string | null): void {
  resize(app, size);
  const pictures: string[] = [];
  const start = app.store.start;
  const count = Math.floor((app.store.end - start) * rate + 1e-6) + 1;
  for (let i = 0; i < count; ++i) {
    app.seek(start + i / rate);
    pictures.push(app.picture("image/jpeg", quality));
  }
  write(pictures);
}

export function writeStill(app: App, size: string | null): void {
  resize(app, size);
  write([app.picture("image/png")]);
}
