// A drawn figure as a picture file: what the browser has laid out, as one SVG that needs nothing else.

import { imageOf } from "../canvas/sharp";

const NS = "http://www.w3.org/2000/svg";
/** What of a shape's style is drawn; the style sheet does not travel along. */
const SHAPE_STYLES =
  "fill fill-opacity stroke stroke-width stroke-dasharray stroke-linejoin opacity font-size font-weight font-family text-anchor".split(
    " ",
  );
const PAD_PX = 8;
const CAPTION_PX = 22;
const TITLE_PX = 24;
/** Room that the mark of a cut text takes, with the padding of its box. */
const ELLIPSIS_PX = 16;
/** Pixels of an image per pixel of the page. */
const FINE = 2;
/** While a figure has it, what is for hands alone takes no room (tools.css). */
const DRAWING = "drawing";

/**
 * Boxes with their colour, texts, charts and canvases below `figure`, where they stand on screen. `title` stands above, ""
 * where the figure has its own; `caption` below: a picture goes where nothing else says what it is of.
 */
export function figureAsSvg(figure: HTMLElement, title: string, caption: string): string {
  figure.classList.add(DRAWING);
  try {
    return new XMLSerializer().serializeToString(drawn(figure, title, caption));
  } finally {
    figure.classList.remove(DRAWING);
  }
}

function drawn(figure: HTMLElement, title: string, caption: string): SVGElement {
  const frame = figure.getBoundingClientRect();
  const topPx = PAD_PX + (title === "" ? 0 : TITLE_PX);
  const [width, height] = [Math.ceil(frame.width) + 2 * PAD_PX, Math.ceil(frame.height) + topPx + PAD_PX + CAPTION_PX];
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("xmlns", NS);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  const page = getComputedStyle(document.documentElement);
  svg.append(box(0, 0, width, height, page.backgroundColor || "white"));
  const defs = document.createElementNS(NS, "defs");
  const content = made("g", { transform: `translate(${PAD_PX - frame.left} ${topPx - frame.top})` });
  draw(figure, content, defs);
  const head = note(title, TITLE_PX - PAD_PX, { fill: resolved("var(--ink)"), "font-size": 13, "font-weight": 600 });
  const foot = note(caption, height - PAD_PX, { fill: resolved("var(--ink-muted)"), "font-size": 11 });
  svg.append(defs, content, ...(title === "" ? [] : [head]), foot);
  return svg;
}

function note(text: string, y: number, style: Readonly<Record<string, string | number>>): SVGElement {
  const element = made("text", { x: PAD_PX, y, ...style, "font-family": "system-ui, sans-serif" });
  element.textContent = text;
  return element;
}

function draw(element: Element, parent: SVGElement, defs: SVGElement): void {
  const style = getComputedStyle(element);
  if (style.display === "none") return;
  if (element instanceof SVGSVGElement) return void parent.append(chart(element));
  if (element instanceof HTMLCanvasElement) return void parent.append(image(element));
  const { left, top, width, height } = element.getBoundingClientRect();
  const into = layer(element, style, parent, defs);
  const fill = style.getPropertyValue("--fill").trim();
  // A hatch is an image of the style sheet.
  if (style.backgroundImage !== "none" && fill !== "")
    into.append(box(left, top, width, height, hatch(defs, resolved(fill))));
  else if (!/^(transparent|rgba\(0, 0, 0, 0\))?$/.test(style.backgroundColor))
    into.append(box(left, top, width, height, style.backgroundColor));
  for (const child of element.childNodes) {
    if (child instanceof Element) draw(child, into, defs);
    else if (child instanceof Text)
      for (const line of style.textOverflow === "ellipsis" ? cutLine(child, element) : linesOf(child))
        into.append(words(line, style));
  }
}

/** Where an element's own and all below it is drawn: as pale as it is, and cut off where it cuts off. */
function layer(element: Element, style: CSSStyleDeclaration, parent: SVGElement, defs: SVGElement): SVGElement {
  const isClipped = style.overflowX === "hidden" && element.childNodes.length > 0;
  if (!isClipped && !(Number(style.opacity) < 1)) return parent;
  const group = made("g", { opacity: style.opacity || 1 });
  if (isClipped) {
    const { left, top, width, height } = element.getBoundingClientRect();
    const clip = made("clipPath", { id: `clip-${defs.childElementCount}` });
    clip.append(made("rect", { x: left, y: top, width, height }));
    defs.append(clip);
    group.setAttribute("clip-path", `url(#${clip.id})`);
  }
  parent.append(group);
  return group;
}

/** Stripes as the style sheet has them (.fill.hatched), once for each colour. */
function hatch(defs: SVGElement, color: string): string {
  const known = [...defs.querySelectorAll("pattern")].find((pattern) => pattern.getAttribute("data-color") === color);
  if (known !== undefined) return `url(#${known.id})`;
  const size = { width: 4.5, height: 4.5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  const pattern = made("pattern", { id: `stripes-${defs.childElementCount}`, "data-color": color, ...size });
  pattern.append(box(0, 0, 4.5, 4.5, resolved("var(--paper)")), box(0, 0, 2, 4.5, color));
  defs.append(pattern);
  return `url(#${pattern.id})`;
}

/** A `var(...)` as the colour that it is now. */
function resolved(color: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  return name === undefined ? color : getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function box(x: number, y: number, width: number, height: number, fill: string): SVGElement {
  return made("rect", { x, y, width, height, fill });
}

type Line = { readonly text: string; readonly x: number; readonly y: number };

/** The lines that a text is broken into, each with its baseline. */
function linesOf(node: Text): Line[] {
  const range = document.createRange();
  const lines: Array<Line & { readonly top: number }> = [];
  for (const match of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, match.index);
    range.setEnd(node, match.index + match[0].trimEnd().length);
    const rect = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last !== undefined && Math.abs(last.top - rect.top) < 2)
      lines[lines.length - 1] = { ...last, text: `${last.text}${match[0]}` };
    else if (rect.width > 0)
      lines.push({ text: match[0], x: rect.left, y: rect.bottom - rect.height * 0.24, top: rect.top });
  }
  return lines;
}

/** A single line that ends in an ellipsis where its box does, as on screen. */
function cutLine(node: Text, box: Element): Line[] {
  const [line] = linesOf(node);
  if (line === undefined || box.scrollWidth <= box.clientWidth) return line === undefined ? [] : [line];
  const range = document.createRange();
  range.setStart(node, 0);
  const rightPx = box.getBoundingClientRect().right - ELLIPSIS_PX;
  let end = node.length;
  do {
    end -= 1;
    range.setEnd(node, Math.max(0, end));
  } while (end > 0 && range.getBoundingClientRect().right > rightPx);
  return [{ ...line, text: `${node.data.slice(0, Math.max(0, end)).trimEnd()}…` }];
}

function words({ text, x, y }: Line, style: CSSStyleDeclaration): SVGElement {
  const element = made("text", { x, y, fill: style.color });
  for (const name of ["font-size", "font-weight", "font-family"])
    element.setAttribute(name, style.getPropertyValue(name));
  element.textContent = text.trimEnd();
  return element;
}

/** With its styles written into it, and where it stands. */
function chart(svg: SVGSVGElement): SVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const drawn = [...svg.querySelectorAll<SVGElement>("*")];
  for (const [at, shape] of [...copy.querySelectorAll<SVGElement>("*")].entries()) {
    const style = getComputedStyle(drawn[at] ?? shape);
    for (const name of SHAPE_STYLES) shape.setAttribute(name, localUrl(style.getPropertyValue(name)));
    for (const name of ["style", "class"]) shape.removeAttribute(name);
  }
  const { left, top } = svg.getBoundingClientRect();
  const [x, y] = [String(left), String(top)];
  copy.setAttribute("x", x);
  copy.setAttribute("y", y);
  copy.removeAttribute("class");
  return copy;
}

/** A pattern of this page is one of the picture's own. */
function localUrl(value: string): string {
  return value.replace(/url\("[^"#]*(#[^"]*)"\)/, "url($1)");
}

function image(canvas: HTMLCanvasElement): SVGElement {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return made("image", { x: left, y: top, width, height, href: imageOf(canvas, FINE) });
}

function made(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** Twice as fine as on screen. Rejects where the browser cannot draw it. */
export async function asPng(svg: string): Promise<Blob> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [FINE * picture.width, FINE * picture.height];
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("empty picture")) : resolve(blob)), "image/png");
  });
}
