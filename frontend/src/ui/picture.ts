// A drawn figure as a picture file: what the browser has laid out, as one SVG that needs nothing else.

const NS = "http://www.w3.org/2000/svg";
/** What of a shape's style is drawn; the style sheet does not travel along. */
const SHAPE_STYLES =
  "fill fill-opacity stroke stroke-width stroke-dasharray stroke-linejoin opacity font-size font-weight font-family text-anchor".split(
    " ",
  );
const PAD_PX = 8;

/** Boxes with their colour, texts, charts and canvases below `figure`, where they stand on screen. */
export function figureAsSvg(figure: HTMLElement): string {
  const frame = figure.getBoundingClientRect();
  const [width, height] = [Math.ceil(frame.width) + 2 * PAD_PX, Math.ceil(frame.height) + 2 * PAD_PX];
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("xmlns", NS);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.append(box(0, 0, width, height, getComputedStyle(document.documentElement).backgroundColor || "white"));
  const content = document.createElementNS(NS, "g");
  content.setAttribute("transform", `translate(${PAD_PX - frame.left} ${PAD_PX - frame.top})`);
  draw(figure, content);
  svg.append(content);
  return new XMLSerializer().serializeToString(svg);
}

function draw(element: Element, into: SVGElement): void {
  if (isLeftOut(element)) return;
  if (element instanceof SVGSVGElement) return void into.append(chart(element));
  if (element instanceof HTMLCanvasElement) return void into.append(image(element));
  const { left, top, width, height } = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const fill = style.getPropertyValue("--fill").trim();
  // A hatch is an image of the style sheet; its colour stands for it, paler.
  if (style.backgroundImage !== "none" && fill !== "") into.append(box(left, top, width, height, resolved(fill), 0.5));
  else if (!/^(transparent|rgba\(0, 0, 0, 0\))?$/.test(style.backgroundColor))
    into.append(box(left, top, width, height, style.backgroundColor));
  for (const child of element.childNodes) {
    if (child instanceof Element) draw(child, into);
    else if (child instanceof Text) for (const line of linesOf(child)) into.append(words(line, style));
  }
}

function isLeftOut(element: Element): boolean {
  return (
    element.matches(".menu, .step-fields, details, .tooltip, .offscreen, .range-buttons, .toggle, .keys, .search") ||
    getComputedStyle(element).display === "none"
  );
}

/** A `var(...)` as the colour that it is now. */
function resolved(color: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  return name === undefined ? color : getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function box(x: number, y: number, width: number, height: number, fill: string, opacity = 1): SVGElement {
  return made("rect", { x, y, width, height, fill, opacity });
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
  return made("image", { x: left, y: top, width, height, href: canvas.toDataURL() });
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
  [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("empty picture")) : resolve(blob)), "image/png");
  });
}
