import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type StepRange, stepsOfFields, stepWords, within } from "../model/step-range";

type Props = {
  /** What the fields hold at first. */
  readonly shown: StepRange;
  /** The steps that there are. */
  readonly recorded: StepRange;
  readonly choose: (steps: StepRange) => void;
  /** Behind the button: the way back. */
  readonly children?: ComponentChildren;
};

/** Steps that were chosen by these fields, which are gone until the numbers of those steps are there. */
let submitted: StepRange | null = null;

/** Two fields for those who know the numbers, or have no pointer. */
export function StepFields({ shown, recorded, choose, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const first = useSignal(String(shown.first));
  const last = useSignal(String(shown.last));
  useEffect(() => {
    first.value = String(shown.first);
    last.value = String(shown.last);
  }, [shown.first, shown.last]);
  useEffect(() => {
    const isReturn = submitted?.first === shown.first && submitted.last === shown.last;
    submitted = null;
    const { activeElement: focused } = document;
    if (!isReturn || (focused !== null && focused !== document.body)) return;
    form.current?.querySelector("input")?.focus({ preventScroll: true });
    form.current?.scrollIntoView({ block: "center" });
  }, []);
  const problem = problemOf(first.value, last.value, recorded);
  const submit = (event: Event): void => {
    event.preventDefault();
    const asked = stepsOfFields(first.value, last.value);
    const steps = asked && within(asked, recorded);
    if (steps === null || problem !== null) return;
    submitted = steps;
    [first.value, last.value] = [String(steps.first), String(steps.last)];
    choose(steps);
  };
  return (
    <form ref={form} class="step-fields" data-testid="step-fields" onSubmit={submit}>
      <Field label="Steps" name="first" text={first} />
      <Field label="to" name="last" text={last} />
      <button type="submit" disabled={problem !== null}>
        Show only these
      </button>
      {children}
      <span class={problem === null ? "muted" : "error-line"} role="status">
        {problem ?? leftOut(first.value, last.value, recorded) ?? HINT}
      </span>
    </form>
  );
}

type FieldProps = { readonly label: string; readonly name: string; readonly text: { value: string } };

function Field({ label, name, text }: FieldProps) {
  return (
    <label>
      {label}{" "}
      <input
        type="text"
        inputMode="numeric"
        size={6}
        data-testid={`step-${name}`}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

const HINT = "or drag over the bars; every number is then about these steps alone";

/** Of the steps that are written, which there are, where not all. */
function leftOut(first: string, last: string, recorded: StepRange): string | null {
  const asked = stepsOfFields(first, last);
  const there = asked && within(asked, recorded);
  if (there === null || (asked?.first === there.first && asked.last === there.last)) return null;
  return `This capture has steps ${recorded.first} to ${recorded.last}: of these, ${stepWords(there)} will be shown.`;
}

/** In one line, or null. */
function problemOf(first: string, last: string, recorded: StepRange): string | null {
  const steps = stepsOfFields(first, last);
  if (steps === null) return "Write two step numbers.";
  if (Number(first) > Number(last)) return "Write the smaller step number first.";
  return within(steps, recorded) === null ? `This capture has steps ${recorded.first} to ${recorded.last}.` : null;
}
