// A frame of a flame graph: its colour, and what is said of it on hover, on focus and in the list.

import type { Flame, Frame } from "../../model/flame";
import { exactUs, formatDuration, plural } from "../../model/format";
import { shareWords } from "../../model/shares";
import { inkName } from "../../theme/tokens";
import type { Paint } from "../../ui/icicle";
import { fillStyle } from "../../ui/swatch";

/** Stages in their kind's colour; functions in tints of it, the user's own the stronger; native code is hatched. */
export function paintFrame({ origin, token }: Frame): Paint {
  return paintIn(origin, token);
}

export function paintIn(tone: string, token: string): Paint {
  return { tone, style: { ...fillStyle(token), "--on": `var(${inkName(token)})` } };
}

export function textOfFrame({ name, place, origin }: Frame): string {
  if (origin === "native") return `${name} (native, ${place})`;
  return place === "" ? name : `${name} ${place}`;
}

/** What sampled time leaves out, and what the other table has. */
function spanWords(frame: Frame, spanUs: number | undefined): string {
  if (spanUs === undefined) return "";
  return `${frame.index === 0 ? "self" : "total"} ${formatDuration(spanUs)} by spans, as in Stages`;
}

export function frameWords(flame: Flame, frame: Frame, samples: number, spanUs?: number): string {
  const whole = flame[0];
  const share = shareWords(frame.value, whole?.value);
  return [
    textOfFrame(frame),
    frame.source,
    `total ${formatDuration(frame.value)}, ${share} of ${whole?.name ?? ""}`,
    `self ${formatDuration(frame.own)}`,
    plural(samples, "sample"),
    spanWords(frame, spanUs),
  ]
    .filter(Boolean)
    .join(", ");
}

type Props = {
  readonly flame: Flame;
  readonly frame: Frame;
  readonly samples: number;
  /** The same time by spans; undefined for what has none. */
  readonly spanUs?: number | undefined;
};

export function FrameFacts({ flame, frame, samples, spanUs }: Props) {
  const whole = flame[0];
  return (
    <>
      <p class="tooltip-title">{frame.name}</p>
      {frame.place !== "" && (
        <p class="mono">{frame.origin === "native" ? `native code of ${frame.place}` : frame.place}</p>
      )}
      {frame.source !== "" && <p class="mono source-line">{frame.source}</p>}
      <p data-value-us={frame.value} title={exactUs(frame.value)}>
        total {formatDuration(frame.value)}, {shareWords(frame.value, whole?.value)} of {whole?.name}
      </p>
      <p>
        self {formatDuration(frame.own)}, {shareWords(frame.own, whole?.value)}
      </p>
      <p>{plural(samples, "sample")}</p>
      {spanUs !== undefined && <p data-testid="frame-spans">{spanWords(frame, spanUs)}</p>}
    </>
  );
}
