// The page starts here: it reads the document that was written into it and shows a replay or a live simulation.
import "./style.css";
import { App, type AppOptions } from "./app";
import type { ViewerDocument } from "./data/document";
import { LiveConnection, type Hello } from "./data/live";
import { readReplay } from "./data/replay";
import { FrameStore, type Frame } from "./data/store";
import { writeFilm, writeStill } from "./film";
import type { Theme } from "./scene/stage";
import { el } from "./ui/dom";

declare global {
  interface Window {
    __touchstone?: App;
  }
}

const root = document.getElementById("app")!;

function fail(message: string): void {
  root.replaceChildren(
    el("div", { class: "notice card", role: "alert" }, el("h1", {}, "Touchstone"), el("p", {}, message)),
  );
}

// Wishes after the # of the address: theme=dark, t=1.5, play=0, panel=0, ui=0 (the picture alone),
// quality=low (no shadows, coarse edges: for machines without a graphics card), film=30 or still=1, and size=1280x720 (film.ts).
function optionsFor(title: string, subtitle: string): AppOptions {
  const wishes = new URLSearchParams(window.location.hash.slice(1));
  const preferred: Theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const theme = wishes.get("theme");
  const time = wishes.get("t");
  return {
    title,
    subtitle,
    theme: theme === "dark" || theme === "light" ? theme : preferred,
    panel: wishes.get("panel") !== "0",
    interface: wishes.get("ui") !== "0",
    quality: wishes.get("quality") === "low" ? "low" : "high",
    play: wishes.get("play") !== "0",
    time: time === null ? null : Number(time),
  };
}

function showLive(): void {
  let app: App | null = null;
  let scene = "";
  let early: Frame | null = null; // came before the page was ready
  const { protocol, host, pathname, search } = window.location;
  const address = `${protocol === "https:" ? "wss" : "ws"}://${host}${pathname.replace(/[^/]*$/, "")}live${search}`;

  async function start(hello: Hello): Promise<void> {
    const known = JSON.stringify(hello.scene);
    if (app && known !== scene) {
      window.location.reload(); // another simulation answers at this address
      return;
    }
    if (!app) {
      scene = known;
      const store = new FrameStore(hello.scene.bodies.length, hello.channels);
      app = await App.create(
        root,
        hello.scene,
        store,
        (command) => {
          if (!connection.send(command)) app?.refuse("The simulation does not answer: nothing was changed.");
        },
        optionsFor(hello.title, hello.subtitle),
      );
      window.__touchstone = app;
    }
    app.setConnected(true);
    app.setLiveState(hello.state);
    if (early) app.store.append(early);
    early = null;
    app.frameArrived();
  }

  const connection = new LiveConnection(address, {
    hello: (hello) => {
      start(hello).catch((error: unknown) => {
        fail(String(error));
      });
    },
    state: (state) => app?.setLiveState(state),
    frame: ({ frame, certificate, marks }) => {
      if (!app) early = frame;
      app?.store.append(frame, marks);
      app?.setCertificate(certificate);
      app?.frameArrived();
    },
    error: (message) => {
      if (app) app.refuse(message);
      else fail(message);
    },
    closed: () => {
      if (app) app.setConnected(false);
      else fail("No simulation answers at this address. Is the program still running, and is the address complete?");
    },
  });
}

async function main(): Promise<void> {
  const text = document.getElementById("touchstone-data")?.textContent ?? "";
  const content = JSON.parse(text) as ViewerDocument | string;
  if (typeof content === "string") {
    fail("This is the empty viewer. 'touchstone view SCENE' opens it with a simulation, '--html' writes one into it.");
  } else if (content.format === "touchstone-live") {
    showLive();
  } else {
    const store = await readReplay(content);
    const app = await App.create(root, content.scene, store, null, optionsFor(content.title, content.subtitle));
    app.setCertificate(content.certificate);
    window.__touchstone = app;
    const wishes = new URLSearchParams(window.location.hash.slice(1));
    const rate = Number(wishes.get("film"));
    if (rate > 0) writeFilm(app, rate, wishes.get("size"));
    if (wishes.get("still") === "1") writeStill(app, wishes.get("size"));
  }
}

main().catch((error: unknown) => {
  fail(error instanceof Error ? error.message : String(error));
  console.error(error);
});
