import type { ComponentChildren } from "preact";
import { firstClause, UNKNOWN } from "../model/format";

type BigNumberProps = {
  readonly label: string;
  /** Exact value from the report; undefined when it cannot be known. */
  readonly value: number | undefined;
  readonly text: string;
  readonly note: ComponentChildren;
  readonly exact?: string;
  readonly reason: string;
  readonly testId: string;
};

/** One number of the row at the top of a view: label, value with unit, and what it is a share of. */
export function BigNumber(props: BigNumberProps) {
  const known = props.value !== undefined;
  return (
    <div class="number">
      <dt>{props.label}</dt>
      <dd
        class="number-value"
        data-testid={props.testId}
        data-value={props.value}
        title={known ? props.exact : props.reason}>
        {known ? <ValueWithUnit text={props.text} /> : <abbr title={props.reason}>{UNKNOWN}</abbr>}
      </dd>
      <dd class="number-note">{known ? props.note : <span title={props.reason}>{firstClause(props.reason)}</span>}</dd>
    </div>
  );
}

/** "41.3 %": the digits large, the unit beside them small. Text content stays one string. */
function ValueWithUnit({ text }: { text: string }) {
  const cut = text.indexOf("\u00a0");
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
