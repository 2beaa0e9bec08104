// Going through the timeline: to the next gap or data wait by keys.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { TimelineModel } from "../../model/lanes";
import { isOfKind, type Kind, nextSpan, spansOf } from "../../model/spans";
import type { TimeRange } from "../../model/time-scale";
import { isElsewhere } from "../../ui/elsewhere";
import { goTo, seek, turnToTimeline } from "./go-to";

type Props = {
  /** The finest slice at hand. */
  readonly model: TimelineModel;
  readonly whole: TimelineModel;
  readonly shown: TimeRange;
  /** Chooses the gap after (before) the chosen one, and returns whether there is one; left out: those drawn are gone to. */
  readonly turnGap?: TurnGap | undefined;
};

/** `shown`: what the timeline shows. */
export type TurnGap = (shown: TimeRange, turn: 1 | -1) => boolean;

const KINDS: Readonly<Record<string, Kind>> = { g: "gap", n: "wait" };
const WORDS: Readonly<Record<Kind, string>> = { gap: "idle gap", wait: "data wait" };

function missingWords(kind: Kind, hasAny: boolean, turn: 1 | -1): string {
  if (!hasAny) return `The timeline has no ${WORDS[kind]}.`;
  return `No ${WORDS[kind]} ${turn > 0 ? "after" : "before"} this one.`;
}

/** Says where there is none. */
export function TimelineJumps({ model, whole, shown, turnGap }: Props) {
  const said = useSignal("");
  /** While all of the window is on screen nothing was gone to: the first (last) one is next. */
  const from = (range: TimeRange, turn: 1 | -1): TimeRange => {
    const { startUs, endUs } = whole.window;
    if (range.startUs > startUs || range.endUs < endUs) return range;
    return turn > 0 ? { startUs, endUs: startUs } : { startUs: endUs, endUs };
  };
  const jump = (kind: Kind, turn: 1 | -1): void => {
    const isThere =
      kind === "gap" && turnGap !== undefined
        ? turnGap(shown, turn)
        : goToDrawn([model, whole], kind, from(shown, turn), turn);
    said.value = isThere ? "" : missingWords(kind, spansOf(whole, isOfKind[kind]).length > 0, turn);
  };
  const latest = useRef(jump);
  latest.current = jump;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const kind = KINDS[event.key.toLowerCase()];
      if (isElsewhere(event)) return;
      if (event.key === "t") turnToTimeline();
      if (kind === undefined) return;
      event.preventDefault();
      latest.current(kind, event.shiftKey ? -1 : 1);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <p class="muted" role="status" data-testid="jump-said">
      {said.value}
    </p>
  );
}

/** To the next one in the first of `models` that has one; whether there is one. */
function goToDrawn(models: readonly TimelineModel[], kind: Kind, after: TimeRange, turn: 1 | -1): boolean {
  for (const model of models) {
    const next = nextSpan(spansOf(model, isOfKind[kind]), after, turn);
    if (next === null) continue;
    goTo(next.startUs, next.endUs);
    seek(next);
    return true;
  }
  return false;
}
