// Elements, and long lists of which only the visible part exists.
"use strict";

// Texts become text nodes and attributes, never markup: names are strangers' texts.
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "share") element.style.setProperty("--share", value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// What an address names: never what every object has.
const own = (object, key) => Object.hasOwn(object, key) ? object[key] : undefined;

// A table of small size. `columns`: texts; one that begins with "#" is of numbers.
function table(caption, columns, rows) {
  const number = columns.map((name) => name.startsWith("#"));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((name, i) =>
        h("th", { scope: "col", class: number[i] && "number" }, name.replace(/^#/, ""))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) =>
        i === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: number[i] && "number" }, cell)))))));
}

// Shows a page whose form stays while it is the same: a list that is open would close, and a caret jump.
function showBelow(main, kind, title, form, ...below) {
  const old = main.querySelector(":scope > ." + kind + " > form");
  const rest = below.flat(Infinity).filter(Boolean);
  if (!old || !old.isEqualNode(form)) return main.replaceChildren(h("div", { class: kind }, title, form, rest));
  while (old.nextSibling) old.nextSibling.remove();
  old.after(...rest);
}

// Rows of known heights in a box, of which those near the visible part of `main` exist.
class Rows {
  // `drawn` is called when other rows exist than before.
  constructor(box, scroller, drawn = () => {}) {
    this.box = box;
    this.drawn = drawn;
    this.scroller = scroller;
    this.made = new Map();
    this.wanted = false;
    scroller.onscroll = () => this.later();
  }
  // `rows`: [{height, make()}].
  set(rows) {
    this.rows = rows;
    this.tops = [0];
    for (const row of rows) this.tops.push(this.tops[this.tops.length - 1] + row.height);
    this.box.style.height = this.tops[rows.length] + "px";
    const focus = this.box.contains(document.activeElement) && document.activeElement.dataset.key;
    for (const element of this.made.values()) element.remove();
    this.made.clear();
    this.draw();
    if (focus) this.box.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }
  later() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => { this.wanted = false; this.draw(); });
  }
  at(y) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= y) low = middle + 1; else high = middle;
    }
    return low;
  }
  draw() {
    if (!this.box.isConnected) return;
    const above = this.box.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    const spare = 300;
    const first = this.at(Math.max(0, -above - spare));
    const last = Math.min(this.rows.length, this.at(-above + this.scroller.clientHeight + spare) + 1);
    for (const [index, element] of this.made) {
      if ((index >= first && index < last) || element.contains(document.activeElement)) continue;
      element.remove();
      this.made.delete(index);
    }
    let before = null; // in the order of the rows, for those who read the page
    for (let index = last - 1; index >= first; --index) {
      let element = this.made.get(index);
      if (!element) {
        element = this.rows[index].make();
        element.style.top = this.tops[index] + "px";
        element.style.height = this.rows[index].height + "px";
        this.box.insertBefore(element, before);
        this.made.set(index, element);
      }
      before = element;
    }
    this.drawn();
  }
  // Makes row `index` exist and visible.
  show(index) {
    const above = this.box.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    const top = this.tops[index] + above, bottom = this.tops[index + 1] + above;
    if (top < 0) this.scroller.scrollTop += top - 8;
    else if (bottom > this.scroller.clientHeight) this.scroller.scrollTop += bottom - this.scroller.clientHeight + 8;
    this.draw();
  }
}
