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

/** Of what does not fit whole, as many last words as do: "batch 12" becomes "12". */
export function fitLastWords(context: CanvasRenderingContext2D, text: string, room: number): string {
  const words = text.split(" ");
  while (words.length > 1 && context.measureText(words.join(" ")).width > room) words.shift();
  return fitText(context, words.join(" "), room);
}
