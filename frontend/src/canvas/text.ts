// Text that has to fit into so many pixels.

/** As much of `text` as `room` pixels hold, with an ellipsis; "" when not even that fits. */
export function fitText(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (room <= 0 || text === "") return "";
  if (context.measureText(text).width <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : `${text.slice(0, low)}…`;
}

/** The tail stays, the rest of the title gives way. */
export function fitTitle(context: CanvasRenderingContext2D, title: string, tail: string, room: number): string {
  if (tail === "" || context.measureText(title).width <= room) return fitText(context, title, room);
  const head = title.slice(0, -tail.length);
  return fitText(context, head, room - context.measureText(tail).width) + tail;
}

/** One line; two where the title is longer and may have them, broken between words. */
export function titleLines(
  context: CanvasRenderingContext2D,
  title: string,
  tail: string,
  room: number,
  most: number,
): string[] {
  const words = title.split(" ");
  const isShort = (count: number): boolean => context.measureText(words.slice(0, count).join(" ")).width <= room;
  let count = most > 1 && !isShort(words.length) ? words.length - 1 : 0;
  while (count > 0 && !isShort(count)) count -= 1;
  const last = fitTitle(context, words.slice(count).join(" "), tail, room);
  return [words.slice(0, count).join(" "), last].filter(Boolean);
}

/** Of what does not fit whole, as many last words as do: "batch 12" becomes "12". */
export function fitLastWords(context: CanvasRenderingContext2D, text: string, room: number): string {
  const words = text.split(" ");
  while (words.length > 1 && context.measureText(words.join(" ")).width > room) words.shift();
  return fitText(context, words.join(" "), room);
}
