// Going through the timeline: to the next gap or data wait by keys, to spans by their name.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { plural } from "../../model/format";
import type { TimelineModel } from "../../model/lanes";
import { type Asked, isOfKind, type Kind, named, nextSpan, spansOf } from "../../model/spans";
import type { TimeRange } from "../../model/time-scale";
import { isElsewhere } from "../../ui/elsewhere";
import { goTo, turnToTimeline } from "./go-to";

type Props = {
  /** The finest slice at hand. */
  readonly model: TimelineModel;
  readonly whole: TimelineModel;
  readonly shown: TimeRange;
  /** Chooses the gap after (before) the chosen one, and returns whether there is one; left out: those drawn are gone to. */
  readonly turnGap?: TurnGap | undefined;
  readonly children: ComponentChildren;
};

/** `shown`: what the timeline shows. */
export type TurnGap = (shown: TimeRange, turn: 1 | -1) => boolean;

const KINDS: Readonly<Record<string, Kind>> = { g: "gap", n: "wait" };
const WORDS: Readonly<Record<Kind, string>> = { gap: "idle gap", wait: "data wait" };

function missingWords(kind: Kind, hasAny: boolean, turn: 1 | -1): string {
  if (!hasAny) return `The timeline has no ${WORDS[kind]}.`;
  return `No ${WORDS[kind]} ${turn > 0 ? "after" : "before"} this one.`;
}

export function TimelineJumps({ model, whole, shown, turnGap, children }: Props) {
  const said = useSignal("");
  const jump = (kind: Kind, turn: 1 | -1): void => {
    const isThere =
      kind === "gap" && turnGap !== undefined ? turnGap(shown, turn) : goToDrawn([model, whole], kind, shown, turn);
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
    <div>
      {children}
      <SpanSearch model={model} whole={whole} shown={shown} />
      <p class="muted" role="status" data-testid="jump-said">
        {said.value}
      </p>
    </div>
  );
}

/** To the next one in the first of `models` that has one; whether there is one. */
function goToDrawn(models: readonly TimelineModel[], kind: Kind, shown: TimeRange, turn: 1 | -1): boolean {
  for (const model of models) {
    const next = nextSpan(spansOf(model, isOfKind[kind]), shown, turn);
    if (next === null) continue;
    goTo(next.startUs, next.endUs);
    return true;
  }
  return false;
}

type SearchProps = { readonly model: TimelineModel; readonly whole: TimelineModel; readonly shown: TimeRange };

/** As fine as they are at hand: those of the whole window stand in around the finer slice. */
function spansIn(model: TimelineModel, whole: TimelineModel, asked: Asked): readonly TimeRange[] {
  const fine = spansOf(model, asked);
  if (model === whole) return fine;
  const { startUs, endUs } = model.slice;
  const around = spansOf(whole, asked).filter((span) => span.endUs <= startUs || span.startUs >= endUs);
  return [...fine, ...around].sort((a, b) => a.startUs - b.startUs);
}

function SpanSearch({ model, whole, shown }: SearchProps) {
  const text = useSignal("");
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const spans = words.length === 0 ? [] : spansIn(model, whole, named(words));
  const go = (turn: 1 | -1): void => {
    const next = nextSpan(spans, shown, turn) ?? (turn > 0 ? spans[0] : spans.at(-1));
    if (next !== undefined) goTo(next.startUs, next.endUs);
  };
  return (
    <p class="search span-search">
      <input
        type="search"
        placeholder="Search spans"
        aria-label="Search spans of the timeline by name; Enter goes to the next one"
        data-testid="span-search"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape" && text.value !== "") {
            event.stopPropagation();
            text.value = "";
          }
        }}
      />
      {words.length > 0 && (
        <>
          <button type="button" class="link" disabled={spans.length === 0} onClick={() => go(-1)}>
            Previous
          </button>
          <button type="button" class="link" disabled={spans.length === 0} onClick={() => go(1)}>
            Next
          </button>
          <span class="muted" role="status" data-testid="span-count">
            {plural(spans.length, "span")} drawn with this name; spans joined into one box are found after zooming in
          </span>
        </>
      )}
    </p>
  );
}
