import type { ComponentChildren } from "preact";
import { exactUs, formatDuration, formatPercent, UNKNOWN } from "../model/format";
import { NO_REASON, type Reason } from "../model/reasons";
import { share } from "../model/shares";
import { meaningOfTerm } from "../model/terms";
import { Explained } from "./explained";

type BigNumberProps = {
  readonly label: string;
  /** Exact value from the report; undefined when it cannot be known. */
  readonly value: number | undefined;
  readonly text: string;
  readonly note: ComponentChildren;
  readonly exact?: string;
  /** Left out where the value is always known. */
  readonly reason?: Reason;
  readonly testId: string;
};

type Shown = Pick<BigNumberProps, "value" | "text" | "exact">;

export function asDuration(us: number | undefined): Shown {
  return us === undefined ? { value: us, text: "" } : { value: us, text: formatDuration(us), exact: exactUs(us) };
}

/** The share of the window; without a window the time alone. */
export function asShare(us: number | undefined, windowUs: number | undefined): Shown {
  const part = us === undefined ? undefined : share(us, windowUs);
  return part === undefined ? asDuration(us) : { ...asDuration(us), text: formatPercent(part) };
}

/** One number of the row at the top of a view: label, value with unit, and what it is a share of. */
export function BigNumber({ label, value, text, note, exact, reason = NO_REASON, testId }: BigNumberProps) {
  const known = value !== undefined;
  const meaning = meaningOfTerm(label);
  return (
    <div class="number">
      <dt>{meaning === undefined ? label : <Explained text={meaning}>{label}</Explained>}</dt>
      <dd class="number-value" data-testid={testId} data-value={value} title={known ? exact : reason.message}>
        {known ? <ValueWithUnit text={text} /> : <abbr title={reason.message}>{UNKNOWN}</abbr>}
      </dd>
      <dd class="number-note">{known ? note : <Explained text={reason.message}>{reason.title}</Explained>}</dd>
    </div>
  );
}

/** "41.3%", "1.05 s": the digits large, the unit beside them small. Text content stays one string. */
function ValueWithUnit({ text }: { text: string }) {
  const cut = text.search(/\u00a0|%$/);
  if (cut < 0) return <>{text}</>;
  return (
    <>
      {text.slice(0, cut)}
      <span class="number-unit">{text.slice(cut)}</span>
    </>
  );
}

export function NumberRow({ children }: { children: ComponentChildren }) {
  return <dl class="numbers">{children}</dl>;
}

/** A number inside running text that a test can compare with the report. */
export function Exact({ value, title, children }: { value: number; title?: string; children: ComponentChildren }) {
  return (
    <span class="tabular" data-value={value} title={title}>
      {children}
    </span>
  );
}

/** Unknown, with the reason on hover. */
export function Unknown({ reason }: { reason: string }) {
  return <abbr title={reason}>{UNKNOWN}</abbr>;
}
