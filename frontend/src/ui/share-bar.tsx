import type { ComponentChildren } from "preact";
import type { Part } from "../model/causes";
import { exactUs } from "../model/format";
import { shareWords } from "../model/shares";
import { inkName, isHatched } from "../theme/tokens";
import { fillClass, fillStyle } from "./swatch";
import { useWidth } from "./use-width";

const CHAR_PX = 6.6;
const PAD_PX = 12;

type Props = {
  readonly parts: readonly Part[];
  readonly wholeUs: number;
  /** What the shares are of: "the window". */
  readonly of: string;
  readonly testId: string;
  readonly children?: ComponentChildren;
};

/** One bar that divides a whole, each piece with its name and share where they fit; all of them are said again below. */
export function ShareBar({ parts, wholeUs, of, testId, children }: Props) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(800);
  const label = parts.map((part) => `${part.name} ${shareWords(part.us, wholeUs)}`).join(", ");
  return (
    <div data-testid={testId} ref={ref}>
      <div class="share-bar" role="img" aria-label={`Of ${of}: ${label}`}>
        {parts.map((part) => (
          <span
            key={part.token + part.name}
            class={fillClass(part.token)}
            style={{ ...fillStyle(part.token), flexGrow: part.us }}
            title={`${part.name}: ${exactUs(part.us)}, ${shareWords(part.us, wholeUs)} of ${of}`}
            data-token={part.token}
            data-value-us={part.us}>
            <Label
              part={part}
              text={`${part.name} ${shareWords(part.us, wholeUs)}`}
              roomPx={(widthPx * part.us) / wholeUs}
            />
          </span>
        ))}
      </div>
      {children}
    </div>
  );
}

/** The name and the share, or the name, or nothing: text that is cut, or a number of nobody knows what, says less than none. */
function Label({ part, text, roomPx }: { part: Part; text: string; roomPx: number }) {
  const fitting = [text, part.name.replace(/,$/, "")].find((words) => words.length * CHAR_PX + PAD_PX <= roomPx);
  if (fitting === undefined) return null;
  const style = { color: `var(${inkName(part.token)})` };
  return (
    <span class={isHatched(part.token) ? "share-label on-hatch" : "share-label"} style={style}>
      {fitting}
    </span>
  );
}
