// How well physics was obeyed: the verdict in the title bar, always visible, and the figures in the panel.
import type { CertificateItem } from "../data/document";
import { el, short } from "./dom";

export class Certificate {
  readonly badge = el("span", { class: "badge", role: "status", hidden: true });
  readonly section = el("section", { class: "certificate", hidden: true });
  private readonly table = el("div", { class: "items" });
  items: CertificateItem[] = [];
  private shown = "";

  constructor() {
    this.section.append(el("h2", {}, "Certificate"), this.table);
  }

  update(items: CertificateItem[]): void {
    const state = JSON.stringify(items);
    if (state === this.shown) return;
    this.shown = state;
    this.items = items;
    this.badge.hidden = this.section.hidden = items.length === 0;
    const passed = items.filter((item) => item.passed).length;
    const good = passed === items.length;
    this.badge.className = `badge ${good ? "good" : "bad"}`;
    this.badge.textContent = good
      ? `✓ ${passed} of ${items.length} checks`
      : `✗ ${items.length - passed} of ${items.length} failed`;
    this.badge.title = "The certificate: how well physics was obeyed";
    this.table.replaceChildren(
      ...items.map((item) =>
        el(
          "div",
          { class: `item ${item.passed ? "good" : "bad"}`, title: item.meaning },
          el("span", { class: "mark" }, item.passed ? "✓" : "✗"),
          el("span", { class: "name" }, item.name),
          el("span", { class: "value" }, `${short(item.value ?? NaN, 3)}${item.unit ? ` ${item.unit}` : ""}`),
          el("span", { class: "limit" }, `≤ ${short(item.limit ?? NaN, 1)}`),
        ),
      ),
    );
  }
}
